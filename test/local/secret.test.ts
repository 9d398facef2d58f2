import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { localSecret } from '../../src/local/secret.ts'
import { newFolder, openForEach } from '../kit.ts'

const forEach = openForEach()
let dataDir: string
beforeEach(async () => void (dataDir = await newFolder('docket-secret-', forEach)))

test('creates the secret of a data folder once, readable only by its owner', async () => {
  const secret = await localSecret(dataDir)
  expect(Buffer.from(secret, 'base64url')).toHaveLength(48)
  expect(await localSecret(dataDir)).toBe(secret)
  expect((await stat(join(dataDir, 'jwt-secret'))).mode & 0o777).toBe(0o600)
})

test('concurrent calls return the same secret, and leave no temporary file', async () => {
  const dir = join(dataDir, 'not/yet/there')
  const secrets = await Promise.all(Array.from({ length: 20 }, () => localSecret(dir)))
  expect(new Set(secrets).size).toBe(1)
  expect(await readdir(dir)).toEqual(['jwt-secret'])
})

test('each data folder has its own secret', async () => {
  expect(await localSecret(join(dataDir, 'a'))).not.toBe(await localSecret(join(dataDir, 'b')))
})
