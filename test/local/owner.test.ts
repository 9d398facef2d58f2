import { beforeEach, expect, test } from 'bun:test'
import { chown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { localSecret } from '../../src/local/secret.ts'
import { startLocal } from '../../src/local/start.ts'
import { newFolder, openForEach } from '../support/service.ts'

// Only root can give a folder away; whoever else runs this keeps their own, which holds just as well.
const me = { uid: process.getuid!(), gid: process.getgid!() }
const somebody = me.uid === 0 ? { uid: 65_534, gid: 65_534 } : me

const forEach = openForEach()
let dataDir: string
beforeEach(async () => {
  dataDir = await newFolder('docket-owner-', forEach)
  await chown(dataDir, somebody.uid, somebody.gid)
})

test('what root makes in the data folder of somebody else is theirs', async () => {
  const local = await startLocal({ dataDir, postgres: true, redis: true, log: () => {} })
  await localSecret(dataDir)
  await local.stop()
  const files = await readdir(dataDir, { recursive: true })
  const owners = await Promise.all(files.map(async (name) => (await stat(join(dataDir, name))).uid))
  expect(files.filter((_, i) => owners[i] !== somebody.uid)).toEqual([])
  expect(files.length).toBeGreaterThan(100)
})
