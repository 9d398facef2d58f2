import { ImportError } from '../../items.ts'

export type Open = () => AsyncIterable<Uint8Array>

const minHeadBytes = 4
const lineFeed = 10
const encoder = new TextEncoder()

/**
 * Reads a file as UTF-8, without a byte order mark. Text in UTF-16 is converted.
 * @throws ImportError with the line, if the file is not text
 */
export async function* readText(open: Open): AsyncGenerator<Uint8Array> {
  let decode: Decode | undefined
  for await (const bytes of withHead(open())) {
    decode ??= decodeFor(bytes)
    const text = decode(bytes)
    if (text.length > 0) yield text
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

/** Decodes a part of the file, or without bytes, checks that the file ended with a whole character. */
type Decode = (bytes?: Uint8Array) => Uint8Array

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

function decodeFor(head: Uint8Array): Decode {
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

/** The part may begin within a character. Its other bytes are in the part before. */
function linesBeforeError(bytes: Uint8Array, encoding: string): number {
  const start = encoding === 'utf-8' ? bytes.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0
  const text = new TextDecoder(encoding).decode(bytes.subarray(Math.max(start, 0)))
  const error = text.indexOf('\ufffd')
  return error < 0 ? 0 : text.slice(0, error).split('\n').length - 1
}

function countLines(text: Uint8Array): number {
  let lines = 0
  for (let i = text.indexOf(lineFeed); i >= 0; i = text.indexOf(lineFeed, i + 1)) lines++
  return lines
}
