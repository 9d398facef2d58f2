import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { existsSync } from 'node:fs'
import { run } from './server.ts'

export async function localSecret(dataDir: string): Promise<string> {
  const secret = await readOrCreate(join(dataDir, 'jwt-secret'), () => randomBytes(48).toString('base64url'))
  await chownToFolderOwner(dataDir, join(dataDir, 'jwt-secret'))
  return secret
}

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

export type User = { uid: number; gid: number }

/** If root runs this process but another user owns the data folder, gives the files to that user. */
export async function chownToFolderOwner(dataDir: string, ...paths: string[]): Promise<void> {
  const owner = await stat(dataDir)
  if (process.getuid?.() === 0 && owner.uid !== 0) await chownAll(owner, ...paths.filter(existsSync))
}

export async function chownAll({ uid, gid }: User, ...paths: string[]): Promise<void> {
  await run('chown', ['-R', `${uid}:${gid}`, '--', ...paths])
}
