import { setImmediate as nextTurn } from 'node:timers/promises'
import { ImportError, type ImportedItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'

export type Open = () => AsyncIterable<Uint8Array>

export interface ReaderInput {
  /** Reads the unpacked file from its start. A reader may call it several times: for names of lists, then for tasks. */
  open: Open
  mapping: Mapping
  /** Adds a part to the proposed mapping, which the import shows. The given mapping takes precedence. */
  propose(part: Mapping): void
  /** Adds a line about the whole file to the report. */
  report(message: string): void
}

/**
 * Reads the items of a file in its order, in bounded memory. The same file with the same mapping gives the same items.
 * @throws ImportError if the file is broken
 */
export type Reader = (input: ReaderInput) => AsyncIterable<ImportedItem>

/** The event loop runs after each piece, which may have thousands of rows. */
const maxPieceBytes = 16 * 1024

/**
 * Reads a file in UTF-8 or UTF-16, without a byte order mark, in pieces of at most 16 KiB.
 * @throws ImportError with the line, if the file is not text
 */
export async function* readText(open: Open): AsyncGenerator<string> {
  let head = Buffer.alloc(0)
  let decode: ReturnType<typeof decoderOf> | undefined
  for await (const chunk of open()) {
    const bytes = decode ? chunk : (head = Buffer.concat([head, chunk]))
    // The first two bytes show the encoding.
    if (!decode && head.length < 2) continue
    decode ??= decoderOf(head)
    for (let at = 0; at < bytes.length; at += maxPieceBytes) {
      yield decode(bytes.subarray(at, at + maxPieceBytes))
      await nextTurn()
    }
  }
  if (!decode) yield decoderOf(head)(head)
  decode?.()
}

/**
 * Returns a function that decodes the parts of a file. Without bytes, the function checks that the last character of the
 * file is complete.
 * @param head the first bytes of the file
 */
function decoderOf([first, second]: Uint8Array) {
  const isUtf16le = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0)
  const isUtf16be = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0)
  const encoding = isUtf16le ? 'utf-16le' : isUtf16be ? 'utf-16be' : 'utf-8'
  const strict = new TextDecoder(encoding, { fatal: true })
  // Replaces invalid bytes, and so shows their line.
  const tolerant = new TextDecoder(encoding)
  let line = 1
  return (bytes?: Uint8Array): string => {
    const options = { stream: bytes !== undefined }
    const text = tolerant.decode(bytes, options)
    const failAt = (character: RegExp, message: string) =>
      new ImportError(message, `line ${line + linesIn(text.slice(0, text.search(character)))}`)
    try {
      strict.decode(bytes, options)
    } catch {
      const name = encoding === 'utf-8' ? 'UTF-8' : 'UTF-16'
      throw failAt(/\ufffd|$/, `The file is not ${name} text. Save it again in UTF-8`)
    }
    if (text.includes('\0')) throw failAt(/\0/, 'The file contains the character U+0000: remove it')
    line += linesIn(text)
    return text
  }
}

/** Returns the number of line feeds. */
export function linesIn(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}
