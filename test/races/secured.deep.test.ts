import { expect, test } from 'bun:test'
import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../src/local/port.ts'
import { endServer, launch } from '../../src/local/process.ts'
import { redisBinary } from '../../src/local/redis-binary.ts'
import { openPostgres, type PostgresServer } from '../faults/postgres-server.ts'
import { make, openClient, register } from '../support/client.ts'
import { forFile, newFolder, type ServiceProcess, spawnService, testSecret } from '../support/service.ts'
import { cert, key } from '../support/tls-proxy.ts'
import { eventually } from './pair.ts'

const startService = (command: 'start' | 'web', more: Record<string, string>) =>
  forFile(spawnService(command, { ...env, ...more }))
const dir = await newFolder()
for (const [name, text] of Object.entries({ cert, key })) await writeFile(join(dir, name), text)
const postgres = await forFile(openPostgres(dir))
await enableTls(postgres)
const redis = await forFile(secureRedis())
const url = new URL(postgres.url)
url.hostname = 'localhost'
const DATABASE_URL = `${url.href}?sslmode=verify-full`
const withAuthority = { NODE_EXTRA_CA_CERTS: join(dir, 'cert') }
const env = { DATABASE_URL, REDIS_URL: redis.url, JWT_SECRET: testSecret, HOST: '127.0.0.1', PORT: '0' }

async function enableTls({ query }: PostgresServer): Promise<void> {
  const { uid, gid } = await stat(join(dir, 'postgres'))
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    await writeFile(join(dir, 'postgres', name), text, { mode: 0o600 })
    await chown(join(dir, 'postgres', name), uid, gid)
  }
  await query(async (sql) => {
    await sql`alter system set ssl = on`
    await sql`select pg_reload_conf()`
  })
}

async function secureRedis() {
  const port = await freePort()
  const tls = ['--port', '0', '--tls-port', `${port}`, '--tls-auth-clients', 'no', '--save', '']
  const files = ['cert', 'key', 'ca-cert'].flatMap((name) => [
    `--tls-${name}-file`,
    join(dir, name.slice(-4).replace('-', '')),
  ])
  const users = '--user default off --user docket on >s3cret ~* &* +@all'.split(' ')
  const command = [await redisBinary(console.error), ...tls, ...files, ...users, '--dir', dir]
  const { pid } = launch({ command, cwd: dir, logFile: join(dir, 'redis.log') })
  const url = `rediss://docket:s3cret@localhost:${port}`
  return { url, close: () => endServer(pid, dir, 'SIGKILL', 5_000) }
}

const health = async ({ url }: ServiceProcess) => (await fetch(`${url}/health/ready`)).json()

test('connects to Postgres and Redis over TLS, verifies their certificates and sends the password', async () => {
  const one = await startService('start', withAuthority)
  await eventually('Postgres and Redis to be available', async () =>
    Bun.deepEquals(await health(one), { status: 'ok', ...bothAre('ok') }),
  )
  const ada = await register(openClient(one.url))
  const { id } = await make(ada, '/projects', { name: 'Secured' })
  await make(ada, '/tasks', { projectId: id, title: 'First' })
  const plain = await postgres.query(
    (sql) => sql`select from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name = 'docket' and not ssl`,
  )
  expect(plain).toHaveLength(0)
  const client = new Redis(redis.url, { tls: { ca: cert } })
  expect(await client.keys('docket:lease:*')).not.toHaveLength(0)
  client.disconnect()
  await ada.delete(`/projects/${id}`)
  const streams = () => postgres.query((sql) => sql`select from streams where project_id = ${id}`)
  await eventually('the purge of the project', async () => (await streams()).length === 0)
})

test('does not connect to a server whose certificate is not trusted, or that rejects the password', async () => {
  const withoutAuthority = await startService('web', {})
  expect(await health(withoutAuthority)).toEqual({ status: 'unready', ...bothAre('away') })
  const wrong = redis.url.replace('s3cret', 'wrong')
  const withWrongPassword = await startService('web', { REDIS_URL: wrong, ...withAuthority })
  await eventually('Postgres to be available', async () =>
    Bun.deepEquals(await health(withWrongPassword), { status: 'ok', postgres: 'ok', redis: 'away' }),
  )
})

const bothAre = (state: string) => ({ postgres: state, redis: state })
