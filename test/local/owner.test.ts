import { chown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { localSecret } from '../../src/local/secret.ts'
import { startLocal } from '../../src/local/start.ts'
import { newFolder, openForEach } from '../kit.ts'

// Only root can change the owner of a folder. For other users, the test uses their own folder.
const me = { uid: process.getuid!(), gid: process.getgid!() }
const folderOwner = me.uid === 0 ? { uid: 65_534, gid: 65_534 } : me

const forEach = openForEach()
let dataDir: string
beforeEach(async () => {
  dataDir = await newFolder('docket-owner-', forEach)
  await chown(dataDir, folderOwner.uid, folderOwner.gid)
})

test('files that root creates in the data folder of another user belong to that user', async () => {
  const local = await startLocal({ dataDir, postgres: true, redis: true, log: () => {} })
  await localSecret(dataDir)
  await local.stop()
  const files = await readdir(dataDir, { recursive: true })
  const owners = await Promise.all(files.map(async (name) => (await stat(join(dataDir, name))).uid))
  expect(files.filter((_, i) => owners[i] !== folderOwner.uid)).toEqual([])
  expect(files.length).toBeGreaterThan(100)
})
