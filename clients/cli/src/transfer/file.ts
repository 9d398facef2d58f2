import { createReadStream, openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Cli } from '../cli.ts'
import { Failure } from '../failure.ts'

/** The most bytes of a pipe. They are in memory, so that a retry can send them again. */
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
