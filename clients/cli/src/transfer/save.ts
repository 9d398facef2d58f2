import { createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

/**
 * Writes a file. The file appears, or replaces the previous file, when it is complete. After an error, nothing remains.
 * Writes directly to a path that is not a regular file, such as /dev/null.
 */
export async function saveFile(path: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const isSpecial = await stat(target).then(
    (found) => !found.isFile(),
    () => false,
  )
  if (isSpecial) return pipeline(parts, createWriteStream(target))
  const draft = `${target}.${process.pid}.part`
  try {
    await rm(draft, { force: true })
    await pipeline(parts, createWriteStream(draft, { flags: 'wx' }))
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
