import { nilId } from './id-format.ts'

const countHex = Array.from({ length: 0x1000 }, (_, count) => count.toString(16).padStart(3, '0'))

let newest = nilId

/** The part of an id that orders it: a millisecond, and a counter within that millisecond. */
type Tick = { ms: number; count: number }

const after = ({ ms, count }: Tick): Tick =>
  count < 0xfff ? { ms, count: count + 1 } : { ms: ms + 1, count: 0 }
const isLater = (a: Tick, b: Tick) => a.ms > b.ms || (a.ms === b.ms && a.count > b.count)

/** The largest difference allowed between the clocks of two processes. */
const maxAheadMs = 5_000
/** If the time in an id is further in the future than this, the clock that created the id was wrong. */
const maxClockErrorMs = 3_600_000

/** The shared time at which performance.now() was 0. */
let originMs = performance.timeOrigin

/** Returns the time that all processes share, in ms since 1970. A change of the machine's clock has no effect. */
export const nowMs = (): number => Math.floor(performance.now() + originMs)

/** Corrects the shared time by the database's time, which was read between the monotonic times `from` and `to`. */
export function setClock(databaseMs: number, from: number, to: number): void {
  originMs = Math.min(Math.max(originMs, databaseMs - to), databaseMs - from)
  if (latest.ms > nowMs() + maxAheadMs) [latest, newest] = [{ ms: 0, count: 0 }, nilId]
}

let latest: Tick = { ms: 0, count: 0 }
/** Returns the current time; each call in this process returns a later value. */
function tick(): Tick {
  const ms = nowMs()
  return (latest = ms > latest.ms ? { ms, count: 0 } : after(latest))
}

/** Returns a UUIDv7 (RFC 9562, 5.7) that sorts after all earlier ids of this process. */
export const newId = (): string => (newest = idAt(tick()))

/** True if the time in an id of another process is ahead of the shared time by more than `maxAheadMs`. */
export const isAhead = (id: string): boolean => id > newest && msOf(id) > nowMs() + maxAheadMs

/** True if the id was certainly created after the monotonic time `at`, despite the allowed clock difference. */
export const isCreatedAfter = (id: string, at: number): boolean =>
  msOf(id) > at + originMs + 2 * maxAheadMs && !isAhead(id)

/** Returns an id that sorts before every id created at `ms` or later. */
export const firstIdAt = (ms: number): string => idAt({ ms, count: 0 }, '-8000-000000000000')

/**
 * A project's hybrid logical clock. Its time is at or after the time of the project's last id, unless the last id
 * is over an hour ahead. New ids sort after the project's last id, even if another process created the last id.
 */
export class Clock {
  readonly now: string

  constructor(private last: string) {
    const { ms } = tick()
    this.now = instantAt(last < headAt(ms) ? ms : timeAfter(ms, tickOf(last).ms))
  }

  /** Returns the id of a command's first event. It sorts after the command's id and has the same random part. */
  firstIdOf(commandId: string): string {
    if (commandId > this.last) this.last = commandId
    return this.newId(tailOf(commandId))
  }

  newId(tail?: string): string {
    const own = tick()
    const id = idAt(own, tail)
    // Usually true. Comparing the texts is faster than parsing the last id.
    if (id > this.last) return (this.last = id)
    const before = tickOf(this.last)
    return (this.last = isLater(own, before) ? id : idAt(after(before), tail))
  }
}

/** A command and its first event have the same random part. */
export const tailOf = (id: string): string => id.slice(tailAt)
const tailAt = '00000000-0000-7000'.length

/** The end of the year 9999, the last date that ISO 8601 writes with four digits. */
const endOfTime = 253_402_300_799_000

const timeAfter = (own: number, last: number): number =>
  last > own && last <= own + maxClockErrorMs ? last : own

const msOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

function tickOf(id: string): Tick {
  const ms = msOf(id)
  return ms < endOfTime ? { ms, count: Number.parseInt(id.slice(15, 18), 16) } : { ms: 0, count: 0 }
}

/** Caches the last text, because many ids are created in one millisecond. */
function cachedLast(textOf: (ms: number) => string): (ms: number) => string {
  let [at, text] = [-1, '']
  return (ms) => {
    if (ms !== at) [at, text] = [ms, textOf(ms)]
    return text
  }
}

const instantAt = cachedLast((ms) => new Date(ms).toISOString())
/** Returns the first 15 characters of an id: 48 bits of milliseconds, and the version. */
const headAt = cachedLast((ms) => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7`
})

/** Adds a counter of 12 bits (RFC 9562, 6.2, method 1) and 62 random bits. */
const idAt = ({ ms, count }: Tick, tail = randomTail()): string => `${headAt(ms)}${countHex[count]}${tail}`

/** Takes the variant and the random bits of a UUIDv4, which has them at the same place. */
const randomTail = (): string => crypto.randomUUID().slice(tailAt)
