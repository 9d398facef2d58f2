import { chown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** What root makes in the data folder of somebody else is theirs, so that they can go on with it later. */
export async function giveToOwner(dataDir: string, ...paths: string[]): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(dataDir)
  if (uid === 0) return
  for (const path of paths) await give(path, uid, gid)
}

async function give(path: string, uid: number, gid: number): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return
  await chown(path, uid, gid)
  if (found.isDirectory()) for (const name of await readdir(path)) await give(join(path, name), uid, gid)
}
