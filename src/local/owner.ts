import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { run } from './process.ts'

export type User = { uid: number; gid: number }

/** Files that root makes in the data folder of another user belong to that user. */
export async function giveToOwner(dataDir: string, ...paths: string[]): Promise<void> {
  const owner = await stat(dataDir)
  if (process.getuid?.() === 0 && owner.uid !== 0) await give(owner, ...paths.filter(existsSync))
}

export async function give({ uid, gid }: User, ...paths: string[]): Promise<void> {
  await run('chown', ['-R', `${uid}:${gid}`, '--', ...paths])
}
