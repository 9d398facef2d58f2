import { setImmediate as nextTurn } from 'node:timers/promises'
import { ImportError } from '../../items.ts'

export type Open = () => AsyncIterable<Uint8Array>

const minHeadBytes = 4
/** The event loop runs after each piece, which may have thousands of rows. */
const maxPieceBytes = 16 * 1024
const lineFeed = 10
const encoder = new TextEncoder()

/**
 * Reads a file as UTF-8, without a byte order mark, in pieces of at most 16 KiB. Text in UTF-16 is converted.
 * @throws ImportError with the line, if the file is not text
 */
export async function* readText(open: Open): AsyncGenerator<Uint8Array> {
  let decode: Decode | undefined
  for await (const bytes of withHead(open())) {
    decode ??= decodeFor(bytes)
    const text = decode(bytes)
    for (let at = 0; at < text.length; at += maxPieceBytes) {
      yield text.subarray(at, at + maxPieceBytes)
      await nextTurn()
    }
  }
  decode?.()
}

/** Returns the line, from 1, that contains the byte `offset` of the text. */
export async function lineAt(open: Open, offset: number): Promise<number> {
  let line = 1
  let start = 0
  for await (const text of readText(open)) {
    const end = Math.min(text.length, offset - start)
    line += countLines(text.subarray(0, Math.max(end, 0)))
    start += text.length
    if (start >= offset) break
  }
  return line
}

/** The first part has enough bytes to find out the encoding. */
async function* withHead(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array(0)
  for await (const chunk of chunks) {
    if (!head) yield chunk
    else {
      head = Buffer.concat([head, chunk])
      if (head.length < minHeadBytes) continue
      yield head
      head = undefined
    }
  }
  if (head && head.length > 0) yield head
}

/** Returns a part of the file in UTF-8. Without bytes, it checks that the last character of the file is complete. */
type Decode = (bytes?: Uint8Array) => Uint8Array

/** @param head the first bytes of the file */
function decodeFor([first, second, third]: Uint8Array): Decode {
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
      const name = encoding === 'utf-8' ? 'UTF-8' : 'UTF-16'
      const at = line + (bytes ? linesBeforeError(bytes, encoding) : 0)
      throw new ImportError(`The file is not ${name} text. Save it again in UTF-8`, `line ${at}`)
    }
    const nul = text.indexOf('\0')
    if (nul >= 0) {
      const at = line + text.slice(0, nul).split('\n').length - 1
      throw new ImportError('The file contains the character U+0000: remove it', `line ${at}`)
    }
    const result = encoding === 'utf-8' && bytes ? bytes.subarray(skipped) : encoder.encode(text)
    skipped = 0
    line += countLines(result)
    return result
  }
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
