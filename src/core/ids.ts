import { randomFillSync } from 'node:crypto'

const pool = new Uint8Array(8192)
let used = pool.length
const hex = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'))
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * A UUIDv7 (RFC 9562, 5.7): 48 bits of milliseconds, 12 bits of the millisecond's fraction (6.2, method 3) so that
 * ids made in order sort in order, 62 random bits.
 */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const r = pool.subarray(used, (used += 8))
  const now = nextTick()
  const ms = Math.floor(now / 4096)
  const time = ms.toString(16).padStart(12, '0')
  const fraction = (now - ms * 4096).toString(16).padStart(3, '0')
  const tail = hex[r[2]!]! + hex[r[3]!] + hex[r[4]!] + hex[r[5]!] + hex[r[6]!] + hex[r[7]!]
  const variant = hex[(r[0]! & 0x3f) | 0x80]! + hex[r[1]!]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${fraction}-${variant}-${tail}`
}

let last = 0
/** The time in 4096ths of a millisecond, never the same twice in this process. */
function nextTick(): number {
  const now = Math.floor((performance.timeOrigin + performance.now()) * 4096)
  last = now > last ? now : last + 1
  return last
}

/** The nil UUID (RFC 9562, 5.9): what every id comes after, and nobody's own. */
export const nilId = '00000000-0000-0000-0000-000000000000'

/** True for the canonical lower-case form, the only one this service gives out. */
export const isId = (value: string): boolean => UUID.test(value)
