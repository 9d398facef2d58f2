import { expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { redisBinary } from '../../src/local/redis-binary.ts'
import { openLog } from '../../src/log.ts'
import { disconnect, openBlocking } from '../../src/redis/connections.ts'

test('REDIS_URL may be the path of a socket, with a database', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'docket socket '))
  const path = join(dir, 'redis.sock')
  const options = ['--port', '0', '--unixsocket', path, '--unixsocketperm', '700', '--dir', dir]
  const server = spawn(await redisBinary(console.error), options, { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  const redis = openBlocking(`unix://${encodeURI(path)}?db=3`, openLog('silent'))
  expect(String(await redis.client('INFO'))).toContain(' db=3 ')
  disconnect(redis)
  server.kill()
  await ended
  await rm(dir, { recursive: true, force: true })
})
