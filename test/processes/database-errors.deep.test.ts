import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import postgres from 'postgres'
import { migrate } from '../../drizzle/migrate.ts'
import { eventually, forFile, freshEnv, listen, spawnService } from '../kit.ts'
import { begin, emptyDatabase, run } from './launch.ts'

const { env } = await forFile(freshEnv())

/** Returns a database with a role that may create schemas, tables and nothing else. */
async function openScene() {
  const { url: adminUrl, drop } = await forFile(emptyDatabase())
  const role = `r_${randomBytes(6).toString('hex')}`
  const name = new URL(adminUrl).pathname.slice(1)
  const admin = postgres(adminUrl, { max: 1, fetch_types: false, onnotice: () => {} })
  const execute = async (statements: string) => {
    for (const one of statements.split('; '))
      await admin.unsafe(one.replaceAll('ROLE', role).replaceAll('NAME', name))
  }
  await execute(
    "create role ROLE login password 's3cret'; grant create on database NAME to ROLE; grant create on schema public to ROLE",
  )
  await forFile({
    async close() {
      await admin.end()
      await drop()
      const sql = postgres(env.DATABASE_URL!, { max: 1, onnotice: () => {} })
      await sql.unsafe(`drop role if exists ${role}`)
      await sql.end()
    },
  })
  const url = Object.assign(new URL(adminUrl), { username: role, password: 's3cret' })
  return { name, role, execute, given: { ...env, DATABASE_URL: url.href }, url }
}

/** Returns the SQL that a message advises. */
const adviceIn = (output: string): string =>
  /Run: (.*?)(?:\. Or .*|\. Then .*)?$/m.exec(output)?.[1] ?? output

/**
 * Each line has a fault, the SQL that causes the fault, and the error with which a command ends. The SQL that the error
 * advises mends the fault.
 */
const exclusions = `
no right in the database | revoke create on database NAME from ROLE | permission denied for database
no right to connect | revoke connect on database NAME from public | CONNECT privilege
no right in the schema | revoke create on schema public from ROLE | permission denied for schema public
no use of the schema | revoke all on schema public from public, ROLE | no schema has been selected
a search_path without a schema | alter role ROLE set search_path = nowhere | no schema has been selected
extensions in another schema | create schema more; create extension btree_gin schema more; create extension pg_trgm schema more | operator class`

const rowsOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((row) => row.split(' | '))

test.each(rowsOf(exclusions))('%s: a command ends, and its advice helps', async (_, broken, reported) => {
  const { given, execute } = await openScene()
  await execute(broken!)
  const { code, output } = await run('migrate', given)
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(reported!) })
  expect(output).toStartWith('DATABASE_URL cannot be used: ')
  await execute(adviceIn(output))
  await migrate(given.DATABASE_URL)
})

const temporary = `
alter role ROLE connection limit 0 | too many connections for
alter database NAME connection limit 0 | too many connections for
alter database NAME set default_transaction_read_only = on | The database is read-only
alter role ROLE set default_transaction_read_only = on | The database is read-only`

test.each(rowsOf(temporary))('after %s, a command waits, and its advice helps', async (broken, expected) => {
  const { given, execute } = await openScene()
  await execute(broken!)
  const waiting = begin('migrate', { ...given, LOG_LEVEL: 'warn' })
  await eventually('the warning', () => waiting.output().includes('Postgres cannot be used yet'))
  const { reason, advice } = JSON.parse(waiting.output().split('\n')[0]!) as Record<string, string>
  expect(reason).toStartWith(expected!)
  // The administrator of the test must still be able to write.
  await execute(`set default_transaction_read_only = off; ${adviceIn(advice!.replace('or run:', 'Run:'))}`)
  expect((await waiting.ended).code).toBe(0)
})

test('migrate names the extensions that searches lack', async () => {
  const { given, execute } = await openScene()
  const quiet = { ...given, LOG_LEVEL: 'warn' }
  expect(await run('migrate', quiet)).toEqual({ code: 0, output: '' })
  await execute('drop extension pg_trgm cascade')
  const { code, output } = await run('migrate', quiet)
  expect([code, JSON.parse(output)]).toMatchObject([0, { missing: ['pg_trgm'] }])
})

test('the log of a rejected request contains what Postgres reported', async () => {
  const { given, execute } = await openScene()
  await migrate(given.DATABASE_URL)
  const web = await forFile(spawnService('web', given))
  await execute('alter role ROLE connection limit 0')
  await execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ROLE'")
  const reason = 'The database cannot be reached. Nothing was written: too many connections for role'
  // The first requests may get an error of the connections that were closed.
  await eventually('the log line of a rejected request', async () => {
    await fetch(`${web.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'geheim12' }),
    })
    return web.output.some((line) => line.includes(reason))
  })
  expect(await web.stop()).toBe(0)
})

const encodings = ['LATIN1', 'SQL_ASCII']
test.each(encodings)('every command rejects a database with the encoding %s', async (encoding) => {
  const { given, execute, url, name } = await openScene()
  await execute(`create database NAME_old encoding '${encoding}' locale 'C' template template0`)
  const old = { ...given, DATABASE_URL: Object.assign(new URL(url), { pathname: `${name}_old` }).href }
  const outcomes = await Promise.all(
    ['migrate', 'web', 'worker', 'start'].map((command) => run(command, old)),
  )
  const output = expect.stringContaining(
    `The database ${name}_old has the encoding ${encoding} instead of UTF8`,
  )
  for (const outcome of outcomes) expect(outcome).toEqual({ code: 1, output })
  await execute(adviceIn(outcomes[0]!.output))
  await migrate(Object.assign(new URL(url), { pathname: `${name}_old_utf8` }).href)
  await execute('drop database NAME_old_utf8; drop database NAME_old')
})

test('web ends if its user may not use the tables, and its advice helps', async () => {
  const { given, execute, role } = await openScene()
  await migrate(given.DATABASE_URL)
  await execute(`create role ${role}_web login password 's3cret'`)
  const asWeb = { ...given, DATABASE_URL: given.DATABASE_URL.replace(role, `${role}_web`) }
  const { code, output } = await run('web', asWeb)
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining('permission denied for schema'),
  })
  await execute(adviceIn(output))
  expect(await (await spawnService('web', asWeb)).stop()).toBe(0)
  await execute(`drop owned by ${role}_web; drop role ${role}_web`)
})

const silent = await forFile(listen(createServer((socket) => socket.resume())))
const nobody = { username: '', password: '' }
const rejected: [what: string, change: (url: URL) => string, error: string][] = [
  [
    'a wrong password at two servers',
    ({ href, host }) => href.replace('s3cret', 'wrong').replace(host, `${host},${host}`),
    'password authentication failed',
  ],
  ['a server without TLS', ({ href }) => `${href}?sslmode=require`, 'Correct sslmode'],
  ['no user', (url) => Object.assign(url, nobody).href, 'Set a user, a password'],
  [
    'a server that is not a Postgres',
    () => `postgres://u@127.0.0.1:${silent.port}/d`,
    `CONNECT_TIMEOUT 127.0.0.1:${silent.port}`,
  ],
  ['the database of another program', ({ href }) => href, 'Another program may use this database'],
]
test.each(rejected)('migrate names what is wrong with DATABASE_URL: %s', async (_, change, error) => {
  const { given, url, execute } = await openScene()
  await execute('create table users (id int)')
  const command = error.startsWith('CONNECT') ? ['admin', 'projects'] : ['migrate']
  const DATABASE_URL = change(new URL(url))
  expect(await run(command[0]!, { ...given, DATABASE_URL }, ...command.slice(1))).toEqual({
    code: 1,
    output: expect.stringContaining(error),
  })
})

test('migrate waits for a server that ends a connection during the TLS handshake', async () => {
  const ending = createServer((socket) => socket.once('data', () => socket.end('S')))
  const { port } = await forFile(listen(ending))
  const DATABASE_URL = `postgres://u@127.0.0.1:${port}/d?sslmode=require`
  const waiting = begin('migrate', { ...env, DATABASE_URL, LOG_LEVEL: 'warn' })
  await eventually('the warning', () => waiting.output().includes('Postgres cannot be used yet'))
  waiting.signal('SIGTERM')
  expect((await waiting.ended).code).toBe(143)
})

test('the name of a database may contain encoded characters', async () => {
  const { given, execute, url, name } = await openScene()
  await execute(`create database "NAME #é" owner ROLE encoding 'UTF8' locale 'C' template template0`)
  const DATABASE_URL = Object.assign(new URL(url), { pathname: `${name}%20%23%C3%A9` }).href
  expect(await run('migrate', { ...given, DATABASE_URL })).toEqual({ code: 0, output: '' })
  expect((await run('admin', { ...given, DATABASE_URL }, 'projects')).output).toBe('No project\n')
  await execute('drop database "NAME #é"')
})
