import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { redisBinary } from '../../src/local/redis.ts'
import { startLocal } from '../../src/local/start.ts'
import { spawn } from 'node:child_process'
import { disconnect, newFolder, openForEach, openLog } from '../kit.ts'
import { openBlocking } from '../../src/redis/connections.ts'

const path = process.env.PATH
const missing = 'There is neither redis-server nor valkey-server on the PATH.'
// A fake sudo that fails without the option -n: with -n, sudo never waits for a password.
const sudo = '[ "$1" = -n ] || exit 1; shift; exec "$@"'
const isRoot = process.getuid?.() === 0
const installing = `${isRoot ? '' : 'sudo -n '}apt-get install -y --no-install-recommends redis-server`

const forEach = openForEach()
let dir: string
let bin: string
beforeEach(async () => {
  dir = await newFolder('docket-binary-', forEach)
  bin = join(dir, 'bin')
  await mkdir(bin)
})
afterEach(() => void (process.env.PATH = path))

async function only(programs: Record<string, string>): Promise<void> {
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(bin, name), 0o755)
  }
  process.env.PATH = bin
}

test('without Redis and without a package manager, the start continues and reports how to install Redis', async () => {
  await only({})
  const dataDir = join(dir, 'data')
  const local = await startLocal({ dataDir, postgres: false, redis: true, log: () => {} })
  await local.stop()
  expect(local.redisUrl).toBeUndefined()
  const advice = 'No known package manager was found. Install Redis'
  expect(local.withoutRedis).toStartWith(`${missing} ${advice}`)
  expect(local.withoutRedis).toEndWith('or set REDIS_URL to a running Redis.')
})

test('installs a missing Redis with the package manager, and logs the command', async () => {
  const put = `echo > ${bin}/redis-server; /bin/chmod +x ${bin}/redis-server`
  await only({ sudo, 'apt-get': `[ "$1" = update ] && exit; ${put}` })
  const messages: string[] = []
  expect(await redisBinary((message) => void messages.push(message))).toBe(join(bin, 'redis-server'))
  expect(messages).toEqual([`Redis is missing, installing it: ${installing}`])
})

test('reports why an installation failed', async () => {
  await only({ sudo, 'apt-get': 'echo "E: no network" >&2; exit 100' })
  const reason = `${missing} ${installing} failed: E: no network Install Redis`
  await expect(redisBinary(() => {})).rejects.toThrow(reason)
})

test('accepts valkey-server, and prefers redis-server', async () => {
  await only({ 'valkey-server': 'exit' })
  expect(await redisBinary(() => {})).toBe(join(bin, 'valkey-server'))
  await only({ 'redis-server': 'exit' })
  expect(await redisBinary(() => {})).toBe(join(bin, 'redis-server'))
})

test('REDIS_URL may be a Unix socket with a database number', async () => {
  const dir = await newFolder('docket socket ', forEach)
  const path = join(dir, 'redis.sock')
  const options = ['--port', '0', '--unixsocket', path, '--unixsocketperm', '700', '--dir', dir]
  const server = spawn(await redisBinary(console.error), options, { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  const redis = openBlocking(`unix://${encodeURI(path)}?db=3`, openLog('silent'))
  expect(String(await redis.client('INFO'))).toContain(' db=3 ')
  disconnect(redis)
  server.kill()
  await ended
})
