import { ImportError } from '../../items.ts'

const lineFeed = 10
const encoder = new TextEncoder()

/** Returns a part of the file in UTF-8. Without bytes, it checks that the last character of the file is complete. */
export type Decode = (bytes?: Uint8Array) => Uint8Array

/** @param head the first bytes of the file */
export function decodeFor(head: Uint8Array): Decode {
  const [first, second, third] = head
  if (first === 0xff && second === 0xfe) return decoder('utf-16le')
  if (first === 0xfe && second === 0xff) return decoder('utf-16be')
  if (first !== 0 && second === 0) return decoder('utf-16le')
  if (first === 0 && second !== 0) return decoder('utf-16be')
  return decoder('utf-8', first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0)
}

function decoder(encoding: 'utf-8' | 'utf-16le' | 'utf-16be', markBytes = 0): Decode {
  const fatal = new TextDecoder(encoding, { fatal: true })
  let line = 1
  let skipped = markBytes
  return (bytes) => {
    let text: string
    try {
      text = fatal.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw notText(encoding, line + (bytes ? linesBeforeError(bytes, encoding) : 0))
    }
    const nul = text.indexOf('\0')
    if (nul >= 0) throw notText(encoding, line + text.slice(0, nul).split('\n').length - 1)
    const result = encoding === 'utf-8' && bytes ? bytes.subarray(skipped) : encoder.encode(text)
    skipped = 0
    line += countLines(result)
    return result
  }
}

function notText(encoding: string, line: number): ImportError {
  const name = encoding === 'utf-8' ? 'UTF-8' : 'UTF-16'
  return new ImportError(`The file is not ${name} text. Save it again in UTF-8`, `line ${line}`)
}

/** The part may begin within a character, whose first bytes are in the previous part. */
function linesBeforeError(bytes: Uint8Array, encoding: string): number {
  const start = encoding === 'utf-8' ? bytes.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0
  const text = new TextDecoder(encoding).decode(bytes.subarray(Math.max(start, 0)))
  const error = text.indexOf('\ufffd')
  return error < 0 ? 0 : text.slice(0, error).split('\n').length - 1
}

export function countLines(text: Uint8Array): number {
  let lines = 0
  for (let i = text.indexOf(lineFeed); i >= 0; i = text.indexOf(lineFeed, i + 1)) lines++
  return lines
}
