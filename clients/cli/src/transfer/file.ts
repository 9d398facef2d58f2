import { createReadStream, openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Cli } from '../cli.ts'

/** Returns the content of a file, or of standard input for `-`. Only the content of a pipe is in memory. */
export async function readImported({ input }: Pick<Cli, 'input'>, path: string): Promise<Blob> {
  if (path !== '-' && (await stat(path)).isFile()) return openAsBlob(path)
  const parts: BlobPart[] = []
  for await (const part of path === '-' ? input : createReadStream(path)) parts.push(part as BlobPart)
  return new Blob(parts)
}
