import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { redisBinary } from '../../src/local/redis.ts'
import { localSecret } from '../../src/local/files.ts'
import { startLocal } from '../../src/local/start.ts'
import { newFolder, openForEach } from '../kit.ts'

const forEach = openForEach()
const path = process.env.PATH
let dir: string
beforeEach(async () => void (dir = await newFolder('docket local ', forEach)))
afterEach(() => void (process.env.PATH = path))

test('creates the secret of a data folder once, readable only by its owner, also for concurrent calls', async () => {
  const data = join(dir, 'not/yet/there')
  const secrets = await Promise.all(Array.from({ length: 20 }, () => localSecret(data)))
  expect(new Set(secrets).size).toBe(1)
  expect(Buffer.from(secrets[0]!, 'base64url')).toHaveLength(48)
  expect(await readdir(data)).toEqual(['jwt-secret'])
  expect((await stat(join(data, 'jwt-secret'))).mode & 0o777).toBe(0o600)
  expect(await localSecret(dir)).not.toBe(secrets[0]!)
})

const missing = 'There is neither redis-server nor valkey-server on the PATH.'
// A fake sudo that fails without the option -n: with -n, sudo never waits for a password.
const sudo = '[ "$1" = -n ] || exit 1; shift; exec "$@"'
const isRoot = process.getuid?.() === 0
const installing = `${isRoot ? '' : 'sudo -n '}apt-get install -y --no-install-recommends redis-server`

/** Puts these programs into a folder that becomes the PATH. */
async function only(programs: Record<string, string>): Promise<string> {
  const bin = join(dir, 'bin')
  await mkdir(bin, { recursive: true })
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(bin, name), 0o755)
  }
  return (process.env.PATH = bin)
}

test('without Redis and without apt-get, the start continues and reports how to install Redis', async () => {
  await only({})
  const dataDir = join(dir, 'data')
  const local = await startLocal({ dataDir, postgres: false, redis: true, log: () => {} })
  await local.stop()
  expect(local.redisUrl).toBeUndefined()
  expect(local.withoutRedis).toStartWith(
    `${missing} Docket installs it only with apt-get, as root or with sudo. Install Redis`,
  )
  expect(local.withoutRedis).toEndWith('or set REDIS_URL to a running Redis.')
})

test('installs a missing Redis with apt-get, and logs the command or why it failed', async () => {
  await only({ sudo, 'apt-get': 'echo "E: no network" >&2; exit 100' })
  const reason = `${missing} ${installing} failed: E: no network Install Redis`
  await expect(redisBinary(() => {})).rejects.toThrow(reason)
  const put = `echo > '${dir}/bin/redis-server'; /bin/chmod +x '${dir}/bin/redis-server'`
  const bin = await only({ 'apt-get': `[ "$1" = update ] && exit; ${put}` })
  const messages: string[] = []
  expect(await redisBinary((message) => void messages.push(message))).toBe(join(bin, 'redis-server'))
  expect(messages).toEqual([`Redis is missing, installing it: ${installing}`])
})

test('accepts valkey-server, and prefers redis-server', async () => {
  for (const name of ['valkey-server', 'redis-server']) {
    const bin = await only({ [name]: 'exit' })
    expect(await redisBinary(() => {})).toBe(join(bin, name))
  }
})
