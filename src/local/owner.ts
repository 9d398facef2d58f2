import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { run } from './process.ts'

export type User = { uid: number; gid: number }

/** If root runs this process but another user owns the data folder, gives the files to that user. */
export async function chownToFolderOwner(dataDir: string, ...paths: string[]): Promise<void> {
  const owner = await stat(dataDir)
  if (process.getuid?.() === 0 && owner.uid !== 0) await chownAll(owner, ...paths.filter(existsSync))
}

export async function chownAll({ uid, gid }: User, ...paths: string[]): Promise<void> {
  await run('chown', ['-R', `${uid}:${gid}`, '--', ...paths])
}
