import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { applyMissing } from '../../drizzle/apply.ts'
import { isMigrated, knownMigrations, migrate, withConnections } from '../../drizzle/migrate.ts'
import { readConfig } from '../../src/config.ts'
import { tablesOf } from '../../workers/backup/format.ts'
import { readAdmin } from '../../workers/admin/admin.ts'
import { emptyDatabase } from '../processes/launch.ts'
import { make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'

/** Texts that COPY must escape, or that look like the end of its rows. */
const texts = [
  'tab\tand\nline\r\nends',
  '\\.',
  'a\n\\.\nb',
  '\\N',
  '"quoted", {json}',
  '𝄞 ünïcode',
  'x'.repeat(20_000),
]

let service: TestService
let ada: Person
let paths: string[]
let dir: string
let file: string
let databases: Awaited<ReturnType<typeof emptyDatabase>>[] = []

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'docket-backup-'))
  service = await openTestService()
  ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Kept', description: texts[0] })
  const guest = await register(service.client)
  await ada.post(`/projects/${projectId}/members/invite`, { email: guest.email, role: 'EDITOR' })
  const { id: taskId } = await make(ada, '/tasks', { title: 'Kept', projectId, description: texts[1] })
  for (const text of texts) await make(ada, `/tasks/${taskId}/comments`, { text })
  await make(ada, `/projects/${projectId}/webhooks`, { url: 'http://127.0.0.1:9/' })
  await make(ada, '/tokens', { name: 'Kept', scopes: ['read'], expiresAt: new Date(Date.now() + 3_600_000) })
  await ada.delete(`/tasks/${(await make(ada, '/tasks', { title: 'Undone', projectId })).id}`)
  const project = `/projects/${projectId}`
  paths = [
    ...['/auth/me', '/projects', '/tokens', project, `${project}?asOf=1`, `${project}/members`],
    ...[`${project}/webhooks`, `${project}/events`, `${project}/history`, `/tasks?projectId=${projectId}`],
    ...[`/tasks/${taskId}`, `/tasks/${taskId}/comments`, `/tasks/${taskId}/history`],
  ]
})
beforeEach(() => void (file = join(dir, crypto.randomUUID())))
afterAll(async () => {
  await service.close()
  await Promise.all(databases.map((database) => database.drop()))
  await rm(dir, { recursive: true })
})

async function fresh(): Promise<string> {
  const database = await emptyDatabase()
  databases.push(database)
  return database.url
}

async function admin(databaseUrl: string, ...words: string[]) {
  const work = readAdmin(words)
  if (typeof work !== 'function') return work
  const config = readConfig({ ...service.env, DATABASE_URL: databaseUrl })
  return withConnections(databaseUrl, (sql) => work({ config, sql }))
}
const own = () => service.env.DATABASE_URL!

/** What a service on a database answers to somebody who signed in before. */
async function answersOn(databaseUrl: string) {
  const other = await openTestService({ DATABASE_URL: databaseUrl })
  const caller = other.client.as(ada.token)
  const answers = await Promise.all(paths.map((path) => caller.get(path)))
  await other.close()
  return answers.map(({ status, text, headers }, at) => [paths[at], status, headers.get('etag'), text])
}

test('a service on a restored database answers the same, byte for byte', async () => {
  const made = await admin(own(), 'backup', file)
  expect(made).toEqual({
    code: 0,
    text: expect.stringContaining(`The backup is in ${file}. Keep JWT_SECRET too`),
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const restored = await fresh()
  expect(await admin(restored, 'restore', file)).toEqual({ code: 0, text: 'The backup is restored' })
  const before = await answersOn(own())
  expect(before.filter(([, status]) => status !== 200)).toEqual([])
  expect(await answersOn(restored)).toEqual(before)
})

test('a backup holds every table', async () => {
  await admin(own(), 'backup', file)
  const copied = [
    ...gunzipSync(await readFile(file))
      .toString()
      .matchAll(/^COPY "(\w+)"/gm),
  ]
  const found = await withConnections(
    own(),
    (sql) => sql`select tablename as name from pg_tables where schemaname = 'public'`,
  )
  expect(copied.map(([, name]) => name!).sort()).toEqual(found.map(({ name }) => name).sort())
})

test('a table of many rows is backed up and restored whole', async () => {
  const [many, restored] = [await fresh(), await fresh()]
  await migrate(many)
  await withConnections(
    many,
    (sql) => sql`
      insert into idempotency_keys (scope, key, fingerprint, status, body)
      select 'scope', g::text, md5(g::text), 201, repeat(md5(g::text), 20) from generate_series(1, 20000) g`,
  )
  expect(await admin(many, 'backup', file)).toMatchObject({ code: 0 })
  expect(await admin(restored, 'restore', file)).toMatchObject({ code: 0 })
  const sum = (url: string) =>
    withConnections(url, async (sql) => [
      ...(await sql`select count(*), sum(hashtext(k::text)) from idempotency_keys k`),
    ])
  expect(await sum(restored)).toEqual(await sum(many))
})

test('a restored service takes writes, and what was owed is still owed', async () => {
  await admin(own(), 'backup', file)
  const restored = await fresh()
  await admin(restored, 'restore', file)
  const other = await openTestService({ DATABASE_URL: restored })
  const caller = other.client.as(ada.token)
  const [project] = (await caller.get('/projects')).body
  await make(caller, '/tasks', { title: 'After it', projectId: project!.id })
  const owed = (sql: TestService) => sql.services.database.reads`select name, data from outbox order by id`
  expect([...(await owed(other))]).toEqual([...(await owed(service))])
  await other.close()
})

test('a file that is there is not written over, and one that cannot be opened is named', async () => {
  await writeFile(file, 'precious')
  expect(await admin(own(), 'backup', file)).toEqual({
    code: 1,
    text: `${file} exists already: name another file`,
  })
  expect(await readFile(file, 'utf8')).toBe('precious')
  for (const verb of ['backup', 'restore'])
    expect(await admin(own(), verb, join(dir, 'none', 'file'))).toEqual({
      code: 1,
      text: expect.stringContaining('cannot be opened: ENOENT'),
    })
})

test('a database that holds something is replaced only when that is said', async () => {
  await admin(own(), 'backup', file)
  const url = await fresh()
  await migrate(url)
  const other = await openTestService({ DATABASE_URL: url })
  const bea = await register(other.client)
  expect(await admin(url, 'restore', file)).toEqual({
    code: 1,
    text: expect.stringContaining('is not empty'),
  })
  expect((await admin(url, 'restore', file, 'please')).code).toBe(1)
  expect((await bea.get('/auth/me')).status).toBe(200)
  expect((await admin(url, 'restore', file, 'replace')).code).toBe(0)
  await other.close()
  expect(await answersOn(url)).toEqual(await answersOn(own()))
})

test('of a backup that is damaged nothing is restored, and the database stays as it is', async () => {
  await admin(own(), 'backup', file)
  const whole = await readFile(file)
  const lines = gunzipSync(whole).toString().split('\n')
  const at = lines.findIndex((line) => line.startsWith('COPY "users"')) + 1
  const damages = {
    'cut off': whole.subarray(0, whole.length / 2),
    'without its end': gzipSync(lines.slice(0, -2).join('\n')),
    'ends in a table': gzipSync(lines.slice(0, at + 1).join('\n')),
    'a row without its columns': gzipSync(lines.with(at, 'x').join('\n')),
    'a row that is there twice': gzipSync(lines.toSpliced(at, 0, lines[at]!).join('\n')),
    'another statement': gzipSync(lines.toSpliced(1, 0, 'DROP TABLE "users";').join('\n')),
    'not compressed': Buffer.from(lines.join('\n')),
    'no backup': gzipSync('select 1;\n'),
    empty: Buffer.alloc(0),
  }
  const before = await answersOn(own())
  for (const [damage, content] of Object.entries(damages)) {
    await writeFile(file, content)
    const { code, text } = await admin(own(), 'restore', file, 'replace')
    expect([damage, code, text]).toEqual([
      damage,
      1,
      expect.stringMatching(/^(The backup is damaged|This file is no)/),
    ])
  }
  expect(await answersOn(own())).toEqual(before)
})

test('a backup of an earlier release is restored and migrated; one of a later release is rejected', async () => {
  const old = await fresh()
  const known = knownMigrations()
  await withConnections(old, async (sql) => {
    await applyMissing(sql, known.slice(0, 3))
    await sql`insert into users (id, name, email, password_hash, created_at)
      values (gen_random_uuid(), 'Old', 'old@example.com', 'x', now())`
  })
  expect(await admin(old, 'backup', file)).toMatchObject({ code: 0 })
  const restored = await fresh()
  expect((await admin(restored, 'restore', file)).code).toBe(0)
  expect(await isMigrated(restored)).toBe(true)
  const tables = tablesOf(known.slice(0, 3))
  expect(tables.length).toBeLessThan(tablesOf(known).length)
  const [user] = await withConnections(restored, (sql) => sql`select name from users`)
  expect(user).toEqual({ name: 'Old' })

  const later = gunzipSync(await readFile(file))
    .toString()
    .replace('\n', ' 0123abc\n')
  await writeFile(file, gzipSync(later))
  expect((await admin(await fresh(), 'restore', file)).text).toBe(
    'The backup is of a later release: restore it with that release',
  )
})
