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

/**
 * A clock that goes on from where these ids were made: its time is never before theirs, and its ids sort after them,
 * however the clocks of the machines stand that made them (a hybrid logical clock).
 */
export function clockAfter(ids: string[]): { now: string; newId: () => string } {
  let last = ids.map(tickOf).reduce((a, b) => (isLater(a, b) ? a : b))
  const next = () => {
    const own = tick()
    return (last = isLater(own, last) ? own : after(last))
  }
  return { now: new Date(next().ms).toISOString(), newId: () => idAt(next()) }
}

/** The end of the year 9999: no clock of ours, and no date has a place after it. */
const endOfTime = 253_402_300_799_000

function tickOf(id: string): Tick {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return ms < endOfTime ? { ms, count: Number.parseInt(id.slice(15, 18), 16) } : { ms: 0, count: 0 }
}

/** 48 bits of milliseconds, 12 bits that count (6.2, method 1), 62 random bits. */
function idAt({ ms, count }: Tick): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const r = pool.subarray(used, (used += 8))
  const time = ms.toString(16).padStart(12, '0')
  const tail = hex[r[2]!]! + hex[r[3]!] + hex[r[4]!] + hex[r[5]!] + hex[r[6]!] + hex[r[7]!]
  const variant = hex[(r[0]! & 0x3f) | 0x80]! + hex[r[1]!]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}-${variant}-${tail}`
}

/** The nil UUID (RFC 9562, 5.9): what every id comes after, and nobody's own. */
export const nilId = '00000000-0000-0000-0000-000000000000'

/** An id as this service writes it: in upper case it is the same one. What is no id stays. */
export const canonicalId = (text: string): string =>
  text.length === 36 && /[A-F]/.test(text) ? text.toLowerCase() : text

/** True for the canonical lower-case form, the only one this service gives out. */
export const isId = (value: string): boolean => UUID.test(value)
