import { constants, gunzipSync } from 'node:zlib'
import type { ImportSource } from '../../../typescript/src/index.ts'
import { usageError, Failure } from '../failure.ts'
import { createReadStream, openAsBlob } from 'node:fs'
import { stat, readFile } from 'node:fs/promises'
import type { Cli } from '../cli.ts'

/** The systems whose files the service can import. */
export const sources = [
  ...['csv', 'jira', 'trello', 'linear', 'todoist', 'github', 'asana'],
  ...['planka', 'wekan', 'ticktick', 'deck', 'docket'],
] as const satisfies readonly ImportSource[]

/** Enough for the beginning of the first line. */
const startBytes = 4_096

/**
 * Returns the source of a file of `docket export`, by its first line.
 * @throws Failure 2 for any other file
 */
export async function guessedSource(file: Blob): Promise<ImportSource> {
  const start = await file.slice(0, startBytes).arrayBuffer()
  const text = new TextDecoder().decode(unpacked(new Uint8Array(start)))
  if (/^\s*\{"docket":\d/.test(text)) return 'docket'
  if (text.startsWith('id,number,title,description,status,')) return 'csv'
  throw usageError(`--source is required: the system that wrote the file. It is one of ${sources.join(', ')}`)
}

function unpacked(start: Uint8Array): Uint8Array {
  if (start[0] !== 0x1f || start[1] !== 0x8b) return start
  try {
    // Z_SYNC_FLUSH, because `start` is only a part of the file.
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH })
  } catch {
    return start
  }
}

/** The maximum number of bytes of a pipe. They are in memory, so that a retry can send them again. */
const maxPipedBytes = 67_108_864

/**
 * Returns the content of a file, or of standard input for `-`.
 * @throws Failure if a pipe has too many bytes
 */
export async function readImported({ input }: Pick<Cli, 'input'>, path: string): Promise<Blob> {
  if (path !== '-' && (await stat(path)).isFile()) return openAsBlob(path)
  const parts: BlobPart[] = []
  let bytes = 0
  for await (const part of path === '-' ? input : createReadStream(path)) {
    bytes += part.length
    if (bytes > maxPipedBytes)
      throw new Failure('The input has more than 64 MiB: compress it with gzip, or pass a file')
    parts.push(part as BlobPart)
  }
  return new Blob(parts)
}

/** Returns the mapping. @param given a JSON object, or the path of a file with a JSON object @throws Failure 2 */
export async function readMapping(given: string | undefined): Promise<object | undefined> {
  if (given === undefined) return undefined
  const text = given.trimStart().startsWith('{') ? given : await readFile(given, 'utf8')
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
    if (typeof value === 'object' && value && !Array.isArray(value)) return value
  } catch {
    // falls through
  }
  throw usageError('--mapping must be a JSON object, or a file that contains one')
}
