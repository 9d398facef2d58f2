import { constants, gunzipSync } from 'node:zlib'
import type { ImportSource } from '../../../typescript/src/index.ts'
import { usageError } from '../failure.ts'

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
