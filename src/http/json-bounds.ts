import { badRequest } from '../wire/refusals.ts'

/** More than any body here needs, and far from what overflows a stack that follows it down. */
const bodyLevels = 32
/** Keys and elements of a body: a batch of 500 operations with every field has half of these. */
const bodyParts = 50_000

export const tooDeep = () => badRequest(`The body must not be nested deeper than ${bodyLevels} levels`)
export const tooManyParts = () => badRequest(`The body must have at most ${bodyParts} keys and elements`)

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Checks the bytes of a JSON text before it is parsed: to parse lists of lists, and to walk through them, takes a hundred
 * times as long as this one pass. Every key and element follows a comma or an opening bracket outside of strings.
 * @throws Refusal 400
 */
export function requireBounded(bytes: Uint8Array): void {
  let [levels, parts] = [0, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) at = endOfString(bytes, at)
    else if (byte === openList || byte === openObject) {
      if (++levels > bodyLevels) throw tooDeep()
      if (++parts > bodyParts) throw tooManyParts()
    } else if (byte === closeList || byte === closeObject) levels--
    else if (byte === comma && ++parts > bodyParts) throw tooManyParts()
  }
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}
