import { randomFillSync } from 'node:crypto'

const pool = new Uint8Array(8192)
let used = pool.length
const hex = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'))
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A place in the order of ids: a millisecond, and a count within it. */
interface Tick {
  ms: number
  count: number
}

const after = ({ ms, count }: Tick): Tick =>
  count < 0xfff ? { ms, count: count + 1 } : { ms: ms + 1, count: 0 }
const isLater = (a: Tick, b: Tick) => a.ms > b.ms || (a.ms === b.ms && a.count > b.count)

let latest: Tick = { ms: 0, count: 0 }
/** The time now, never the same twice in this process. */
function tick(): Tick {
  const ms = Date.now()
  return (latest = ms > latest.ms ? { ms, count: 0 } : after(latest))
}

/** A UUIDv7 (RFC 9562, 5.7) that sorts after those made before it in this process. */
export const newId = (): string => idAt(tick())

/** What every id made from then on sorts after. */
export const firstIdAt = (ms: number): string => idAt({ ms, count: 0 }, '-8000-000000000000')

/** A clock for what is decided on a project: see clockAfter. */
export interface Clock {
  now: string
  newId(): string
  /** Ids of what an order brings about, for the log: all sort after the order's own, and the first ends like it. */
  idsFor(orderId: string): () => string
}

/**
 * A clock that goes on from where these ids were made: its time is never before theirs, and its ids sort after them,
 * however the clocks of the machines stand that made them (a hybrid logical clock).
 */
export function clockAfter(ids: string[]): Clock {
  let last = ids.reduce((a, b) => (a > b ? a : b))
  const next = (tail?: string) => {
    const own = tick()
    const id = idAt(own, tail)
    // As a rule this machine's clock is ahead: then ids are compared as texts, and none is taken apart.
    if (id > last) return (last = id)
    const before = tickOf(last)
    return (last = isLater(own, before) ? id : idAt(after(before), tail))
  }
  const { ms } = tick()
  return {
    now: instantAt(last < headAt(ms) ? ms : Math.max(ms, tickOf(last).ms)),
    newId: () => next(),
    idsFor(orderId) {
      let tail: string | undefined = tailOf(orderId)
      return () => {
        if (tail && orderId > last) last = orderId
        const id = next(tail)
        tail = undefined
        return id
      }
    },
  }
}

/** What is random in an id: by it the event that an order began with is known. */
export const tailOf = (id: string): string => id.slice(tailAt)
const tailAt = '00000000-0000-7000'.length

/** The end of the year 9999: no clock of ours, and no date has a place after it. */
const endOfTime = 253_402_300_799_000

function tickOf(id: string): Tick {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return ms < endOfTime ? { ms, count: Number.parseInt(id.slice(15, 18), 16) } : { ms: 0, count: 0 }
}

/** The last answer, for many ask in one millisecond. */
function remembered(textOf: (ms: number) => string): (ms: number) => string {
  let [at, text] = [-1, '']
  return (ms) => {
    if (ms !== at) [at, text] = [ms, textOf(ms)]
    return text
  }
}

const instantAt = remembered((ms) => new Date(ms).toISOString())
/** An id's first 15 characters: 48 bits of milliseconds, and the version. */
const headAt = remembered((ms) => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7`
})

/** Then 12 bits that count (6.2, method 1), and 62 random bits. */
const idAt = ({ ms, count }: Tick, tail = randomTail()): string =>
  `${headAt(ms)}${hex[count >> 8]![1]!}${hex[count & 0xff]!}${tail}`

function randomTail(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const at = (used += 8) - 8
  const byte = (n: number) => hex[pool[at + n]!]!
  const variant = hex[(pool[at]! & 0x3f) | 0x80]! + byte(1)
  return `-${variant}-${byte(2)}${byte(3)}${byte(4)}${byte(5)}${byte(6)}${byte(7)}`
}

/** The nil UUID (RFC 9562, 5.9): what every id comes after, and nobody's own. */
export const nilId = '00000000-0000-0000-0000-000000000000'
/** The max UUID (5.10): what every id comes before. */
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** An id as this service writes it: in upper case it is the same one. What is no id stays. */
export const canonicalId = (text: string): string =>
  text.length === 36 && /[A-F]/.test(text) ? text.toLowerCase() : text

/** True for the canonical lower-case form, the only one this service gives out. */
export const isId = (value: string): boolean => UUID.test(value)
