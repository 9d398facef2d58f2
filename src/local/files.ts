import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const localSecret = (dataDir: string): Promise<string> =>
  readOrCreate(join(dataDir, 'jwt-secret'), () => randomBytes(48).toString('base64url'))

export async function readOrCreate(path: string, create: () => string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true })
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (existing) return existing
  // The file gets its final name when it is complete, so that a concurrent process never reads half a secret.
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, create(), { mode: 0o600, flag: 'wx' })
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await unlink(draft)
  return readFile(path, 'utf8')
}
