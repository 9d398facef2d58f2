/** The nil UUID (RFC 9562, 5.9), which sorts before every id. */
export const nilId = '00000000-0000-0000-0000-000000000000'
/** The max UUID (RFC 9562, 5.10), which sorts after every id. */
export const maxId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const canonicalId = (text: string): string =>
  text.length === 36 && /[A-F]/.test(text) ? text.toLowerCase() : text

/** True for an id in lower case. */
export const isId = (value: string): boolean => UUID.test(value)

export const isIdInAnyCase = (value: unknown): boolean =>
  typeof value === 'string' && isId(canonicalId(value))

/** Returns the id of an account that is given as an id, or as `me` by the caller. */
export const accountIdOf = (given: string, callerId: string): string =>
  given === 'me' ? callerId : canonicalId(given)
