import { chown, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { withConnections } from '../../drizzle/migrate.ts'
import { eventually, forFile, freshDatabase, freshEnv, isTransient, make, newFolder } from '../kit.ts'
import { openClient, openDatabase, primaryServer, readConfig, register, spawnService } from '../kit.ts'
import type { Sql } from '../kit.ts'
import { run } from '../processes/launch.ts'
import { openPostgres, type PostgresServer } from '../faults/postgres-server.ts'
import { cert, key } from '../support/tls-proxy.ts'

const dir = await newFolder()
for (const [name, text] of Object.entries({ cert, key })) await writeFile(join(dir, name), text)
const postgres = await forFile(openPostgres(dir))
const users = { only_tls: 'hostssl', only_plain: 'hostnossl', certified: 'hostssl', either: 'host' }
await enableTls(postgres)
const url = new URL(postgres.url)
url.hostname = 'localhost'
const DATABASE_URL = `${url.href}?sslmode=verify-full`
const withAuthority = { NODE_EXTRA_CA_CERTS: join(dir, 'cert') }
const { env } = await forFile(freshEnv({ DATABASE_URL }))

async function enableTls({ query }: PostgresServer): Promise<void> {
  const { uid, gid } = await stat(join(dir, 'postgres'))
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    await writeFile(join(dir, 'postgres', name), text, { mode: 0o600 })
    await chown(join(dir, 'postgres', name), uid, gid)
  }
  const hba = Object.entries(users).map(([user, kind]) => {
    const demand = user === 'certified' ? ' clientcert=verify-ca' : ''
    return `${kind} all ${user} all scram-sha-256${demand}\n`
  })
  await writeFile(
    join(dir, 'postgres', 'pg_hba.conf'),
    [...hba, 'host all docket all scram-sha-256'].join(''),
  )
  await query(async (sql) => {
    for (const user of Object.keys(users)) await sql.unsafe(`create role ${user} login password 's3cret'`)
    await sql`alter system set ssl_ca_file = 'server.crt'`
    await sql`alter system set ssl = on`
    await sql`select pg_reload_conf()`
  })
  await eventually('TLS', async () => (await query((sql) => sql`show ssl`))[0]?.ssl === 'on')
}

test('a service connects to Postgres over TLS, verifies the certificate and works', async () => {
  const one = await forFile(spawnService('start', { ...env, ...withAuthority }))
  const ada = await register(openClient(one.url))
  const { id } = await make(ada, '/projects', { name: 'Secured' })
  const plain = await postgres.query(
    (sql) => sql`select from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name = 'docket' and not ssl`,
  )
  expect(plain).toHaveLength(0)
  await ada.delete(`/projects/${id}`)
  const streams = () => postgres.query((sql) => sql`select from streams where project_id = ${id}`)
  await eventually('the purge of the project', async () => (await streams()).length === 0)
})

const root = `sslrootcert=${join(dir, 'cert')}`
await writeFile(join(dir, 'other'), rootCertificates[0]!)
const otherRoot = `sslrootcert=${join(dir, 'other')}`
const client = `sslcert=${join(dir, 'cert')}&sslkey=${join(dir, 'key')}`
const [demandsTls, rejectsTls, untrusted] = [/no encryption$/, /SSL encryption$/, /self.signed/]
const outcomes: [parameters: string, onlyTls: Outcome, onlyPlain: Outcome, either: Outcome][] = [
  ['', demandsTls, 'plain', 'plain'],
  ['sslmode=disable', demandsTls, 'plain', 'plain'],
  ['sslmode=allow', 'tls', 'plain', 'plain'],
  ['sslmode=prefer', 'tls', 'plain', 'tls'],
  ['sslmode=require', 'tls', rejectsTls, 'tls'],
  ['sslmode=verify-ca', untrusted, untrusted, untrusted],
  ['sslmode=verify-full', untrusted, untrusted, untrusted],
  [`sslmode=require&${root}`, 'tls', rejectsTls, 'tls'],
  [`sslmode=require&${otherRoot}`, untrusted, untrusted, untrusted],
  [`sslmode=prefer&${otherRoot}`, 'tls', 'plain', 'tls'],
  [`sslmode=verify-ca&${root}`, 'tls', rejectsTls, 'tls'],
  [`sslmode=verify-full&${root}`, 'tls', rejectsTls, 'tls'],
]
type Outcome = 'tls' | 'plain' | RegExp

const urlFor = (user: string, parameters: string, host = `localhost:${new URL(postgres.url).port}`) =>
  `postgres://${user}:s3cret@${host}/docket?${parameters}`

/** Returns `tls` or `plain`, by a connection of migrations and by one of the pools, or the error. */
async function connectionTo(databaseUrl: string): Promise<string> {
  const state = (sql: Sql) =>
    sql<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
  const database = openDatabase(readConfig({ DATABASE_URL: databaseUrl }))
  const works = [withConnections(primaryServer(databaseUrl), state), state(database.reads)]
  const [first, second] = await Promise.all(
    works.map((work) =>
      work.then(
        ([row]) => (row!.ssl ? 'tls' : 'plain'),
        ({ message }: Error) => message,
      ),
    ),
  )
  await database.close()
  expect(second).toBe(first!)
  return first!
}

test.each(outcomes)('connects as libpq does with %s', async (parameters, ...expected) => {
  for (const [n, user] of ['only_tls', 'only_plain', 'either'].entries()) {
    const found = await connectionTo(urlFor(user, parameters))
    const right = expected[n]!
    expect([user, found]).toEqual([user, right instanceof RegExp ? expect.stringMatching(right) : right])
  }
})

test('with sslrootcert, require and verify-ca accept any host name, and verify-full does not', async () => {
  const other = createServer((socket) => {
    const onward = connect(Number(new URL(postgres.url).port), '127.0.0.1')
    for (const end of [socket, onward]) end.on('error', () => {})
    socket.pipe(onward).pipe(socket)
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.2', resolve))
  await forFile({ close: () => void other.close() })
  const host = `127.0.0.2:${(other.address() as AddressInfo).port}`
  const connection = (mode: string) => connectionTo(urlFor('either', `sslmode=${mode}&${root}`, host))
  for (const mode of ['require', 'verify-ca']) expect(await connection(mode)).toBe('tls')
  expect(await connection('verify-full')).toMatch(/does not match certificate's altnames/)
})

test('sends the client certificate of sslcert and sslkey', async () => {
  const wanted = /valid client certificate/
  expect(await connectionTo(urlFor('certified', 'sslmode=require'))).toMatch(wanted)
  expect(await connectionTo(urlFor('certified', `sslmode=require&${client}`))).toBe('tls')
})

test('to a server without TLS, sslmode=prefer connects, and sslmode=require fails with a temporary error', async () => {
  const { url } = await forFile(freshDatabase())
  expect(await connectionTo(`${url}?sslmode=prefer`)).toBe('plain')
  const database = await forFile(openDatabase(readConfig({ DATABASE_URL: `${url}?sslmode=require` })))
  const error = await database.reads`select 1`.catch((error: unknown) => error)
  expect(error).toMatchObject({ message: 'No TLS with Postgres: the server does not support TLS' })
  expect(isTransient(error)).toBe(true)
})

const rejected: [parameters: string, advice: string][] = [
  ['', 'add sslmode='],
  ['sslmode=verify-full', 'Correct sslmode, sslrootcert'],
]
test.each(rejected)(
  'with %s, a connection that cannot succeed ends the start',
  async (parameters, advice) => {
    const DATABASE_URL = urlFor('only_tls', parameters)
    for (const command of ['migrate', 'web'])
      expect(await run(command, { ...env, DATABASE_URL })).toEqual({
        code: 1,
        output: expect.stringContaining(advice),
      })
  },
)
