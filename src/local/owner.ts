import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { run } from './process.ts'

export interface User {
  uid: number
  gid: number
}

/** What root makes in the data folder of somebody else is theirs, so that they can go on with it later. */
export async function giveToOwner(dataDir: string, ...paths: string[]): Promise<void> {
  const owner = await stat(dataDir)
  if (process.getuid?.() === 0 && owner.uid !== 0) await give(owner, ...paths.filter(existsSync))
}

/** Gives files, and folders with everything in them, to a user. */
export async function give({ uid, gid }: User, ...paths: string[]): Promise<void> {
  await run('chown', ['-R', `${uid}:${gid}`, '--', ...paths])
}
