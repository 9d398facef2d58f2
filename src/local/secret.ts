import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { giveToOwner } from './owner.ts'

export async function localSecret(dataDir: string): Promise<string> {
  const secret = await keptText(join(dataDir, 'jwt-secret'), () => randomBytes(48).toString('base64url'))
  await giveToOwner(dataDir, join(dataDir, 'jwt-secret'))
  return secret
}

export async function keptText(path: string, make: () => string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true })
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (kept) return kept
  // Linked when written, so that concurrent processes read the same text.
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, make(), { mode: 0o600, flag: 'wx' })
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await unlink(draft)
  return readFile(path, 'utf8')
}
