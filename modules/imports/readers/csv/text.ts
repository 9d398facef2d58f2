import { setImmediate as nextTurn } from 'node:timers/promises'
import { countLines, type Decode, decodeFor } from './decode.ts'

export type Open = () => AsyncIterable<Uint8Array>

const minHeadBytes = 4
/** The event loop runs after each piece, which may have thousands of rows. */
const maxPieceBytes = 16 * 1024

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
