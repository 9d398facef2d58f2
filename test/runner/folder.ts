import { access, constants, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'

const memoryFolder = '/dev/shm'
/** The everyday tests use at most about 300 MB at a time (measured). */
const neededBytes = 4 * 1024 ** 3

/**
 * Returns the folder for the servers of the everyday tests: in memory if there is room. The tests create databases of 470
 * files each, and creating these files on a disk takes a third of the CPU time of Postgres.
 */
export async function everydayFolder(): Promise<string> {
  if (freemem() < neededBytes) return tmpdir()
  const hasRoom = async () => {
    await access(memoryFolder, constants.W_OK)
    const { bavail, bsize } = await statfs(memoryFolder)
    return bavail * bsize >= neededBytes
  }
  return (await hasRoom().catch(() => false)) ? memoryFolder : tmpdir()
}
