import { randomBytes } from 'node:crypto'

let pool = ''
let used = 0
const poolBytes = 8_192
const counts = Array.from({ length: 0x1000 }, (_, count) => count.toString(16).padStart(3, '0'))
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The nil UUID (RFC 9562, 5.9): sorts before every id. */
export const nilId = '00000000-0000-0000-0000-000000000000'
let newest = nilId

/** A place in the order of ids: a millisecond, and a count within it. */
type Tick = { ms: number; count: number }

const after = ({ ms, count }: Tick): Tick =>
  count < 0xfff ? { ms, count: count + 1 } : { ms: ms + 1, count: 0 }
const isLater = (a: Tick, b: Tick) => a.ms > b.ms || (a.ms === b.ms && a.count > b.count)

/** How far apart the clocks of two processes may be. */
export const maxAheadMs = 5_000
/** A project's time that is further ahead is wrong. */
const maxClockErrorMs = 3_600_000

/** The shared time at which performance.now() was 0. */
let originMs = performance.timeOrigin

/** The time that all processes share, in ms since 1970. The machine's clock may be set at any moment. */
export const nowMs = (): number => Math.floor(performance.now() + originMs)

/** Corrects the shared time by the database's, which was read between two readings of performance.now(). */
export function setClock(databaseMs: number, from: number, to: number): void {
  originMs = Math.min(Math.max(originMs, databaseMs - to), databaseMs - from)
  if (latest.ms > nowMs() + maxAheadMs) [latest, newest] = [{ ms: 0, count: 0 }, nilId]
}

let latest: Tick = { ms: 0, count: 0 }
/** The time now, never the same twice in this process. */
function tick(): Tick {
  const ms = nowMs()
  return (latest = ms > latest.ms ? { ms, count: 0 } : after(latest))
}

/** A UUIDv7 (RFC 9562, 5.7) that sorts after those made before it in this process. */
export const newId = (): string => (newest = idAt(tick()))

/** True for an id that was made on a clock which is ahead of the shared one; never for one of this process. */
export const isAhead = (id: string): boolean => id > newest && msOf(id) > nowMs() + maxAheadMs

/** True for an id that was made after a reading of performance.now(), however far apart the two clocks were. */
export const isCreatedAfter = (id: string, at: number): boolean =>
  msOf(id) > at + originMs + 2 * maxAheadMs && !isAhead(id)

/** Sorts before every id that is made from then on. */
export const firstIdAt = (ms: number): string => idAt({ ms, count: 0 }, '-8000-000000000000')

/**
 * The clock of a project (a hybrid logical clock): its time is never before that of the project's last id, and its ids
 * sort after that id, whatever machine made it. The time of an id that is ahead by hours is wrong: the clock ignores it.
 */
export class Clock {
  readonly now: string

  constructor(private last: string) {
    const { ms } = tick()
    this.now = instantAt(last < headAt(ms) ? ms : timeAfter(ms, tickOf(last).ms))
  }

  newId(): string {
    return this.next()
  }

  /** The id of a command's first event: it sorts after the command's id, and ends like it. */
  firstIdOf(commandId: string): string {
    if (commandId > this.last) this.last = commandId
    return this.next(tailOf(commandId))
  }

  private next(tail?: string): string {
    const own = tick()
    const id = idAt(own, tail)
    // Usually, and without parsing an id.
    if (id > this.last) return (this.last = id)
    const before = tickOf(this.last)
    return (this.last = isLater(own, before) ? id : idAt(after(before), tail))
  }
}

/** The random part of an id: a command's first event has that of the command. */
export const tailOf = (id: string): string => id.slice(tailAt)
const tailAt = '00000000-0000-7000'.length

/** The end of the year 9999, where dates end. */
const endOfTime = 253_402_300_799_000

const timeAfter = (own: number, last: number): number =>
  last > own && last <= own + maxClockErrorMs ? last : own

const msOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

function tickOf(id: string): Tick {
  const ms = msOf(id)
  return ms < endOfTime ? { ms, count: Number.parseInt(id.slice(15, 18), 16) } : { ms: 0, count: 0 }
}

/** Keeps the last text, because many ids are made in one millisecond. */
function cachedLast(textOf: (ms: number) => string): (ms: number) => string {
  let [at, text] = [-1, '']
  return (ms) => {
    if (ms !== at) [at, text] = [ms, textOf(ms)]
    return text
  }
}

const instantAt = cachedLast((ms) => new Date(ms).toISOString())
/** An id's first 15 characters: 48 bits of milliseconds, and the version. */
const headAt = cachedLast((ms) => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7`
})

/** Then 12 bits that count (6.2, method 1), and 62 random bits. */
const idAt = ({ ms, count }: Tick, tail = randomTail()): string => `${headAt(ms)}${counts[count]}${tail}`

function randomTail(): string {
  if (used === pool.length) {
    pool = randomBytes(poolBytes).toString('hex')
    used = 0
  }
  const at = (used += 16) - 16
  const code = pool.charCodeAt(at)
  const variant = variants[(code < 0x3a ? code : code + 1) & 3] // the digit's last two bits
  return `-${variant}${pool.slice(at + 1, at + 4)}-${pool.slice(at + 4, at + 16)}`
}

/** Two bits that are always 10, and two random ones. */
const variants = '89ab'

/** The max UUID (RFC 9562, 5.10): sorts after every id. */
export const maxId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** An id in lower case; any other text unchanged. */
export const canonicalId = (text: string): string =>
  text.length === 36 && /[A-F]/.test(text) ? text.toLowerCase() : text

/** True for the canonical form. */
export const isId = (value: string): boolean => UUID.test(value)
