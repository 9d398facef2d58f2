import { beforeEach, expect, test } from 'bun:test'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { migrate, withConnections } from '../../drizzle/migrate.ts'
import { make, register } from '../support/client.ts'
import { forFile, openTestService, type TestService } from '../support/service.ts'
import { openBackupScene } from './backup-scene.ts'

let file: string
const scene = await forFile(openBackupScene())
beforeEach(() => void (file = scene.newFile()))

test('a service on a restored database answers the same, byte for byte', async () => {
  const made = await scene.admin(scene.own, 'backup', file)
  expect(made).toEqual({
    code: 0,
    text: expect.stringContaining(`The backup is in ${file}. Keep JWT_SECRET too`),
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const restored = await scene.fresh()
  expect(await scene.admin(restored, 'restore', file)).toEqual({ code: 0, text: 'The backup is restored' })
  const before = await scene.answersOn(scene.own)
  expect(before.filter(([, status]) => status !== 200)).toEqual([])
  expect(await scene.answersOn(restored)).toEqual(before)
})

test('a backup holds every table', async () => {
  await scene.admin(scene.own, 'backup', file)
  const copied = [
    ...gunzipSync(await readFile(file))
      .toString()
      .matchAll(/^COPY "(\w+)"/gm),
  ]
  const found = await withConnections(
    scene.own,
    (sql) => sql`select tablename as name from pg_tables where schemaname = 'public'`,
  )
  expect(copied.map(([, name]) => name!).sort()).toEqual(found.map(({ name }) => name).sort())
})

test('a table of many rows is backed up and restored whole', async () => {
  const [many, restored] = [await scene.fresh(), await scene.fresh()]
  await migrate(many)
  await withConnections(
    many,
    (sql) => sql`
      insert into idempotency_keys (scope, key, fingerprint, status, body)
      select 'scope', g::text, md5(g::text), 201, repeat(md5(g::text), 20) from generate_series(1, 20000) g`,
  )
  expect(await scene.admin(many, 'backup', file)).toMatchObject({ code: 0 })
  expect(await scene.admin(restored, 'restore', file)).toMatchObject({ code: 0 })
  const sum = (url: string) =>
    withConnections(url, async (sql) => [
      ...(await sql`select count(*), sum(hashtext(k::text)) from idempotency_keys k`),
    ])
  expect(await sum(restored)).toEqual(await sum(many))
})

test('a restored service takes writes, and what was owed is still owed', async () => {
  await scene.admin(scene.own, 'backup', file)
  const restored = await scene.fresh()
  await scene.admin(restored, 'restore', file)
  await using other = await openTestService({ DATABASE_URL: restored })
  const caller = other.client.as(scene.ada.token)
  const [project] = (await caller.get('/projects')).body
  await make(caller, '/tasks', { title: 'After it', projectId: project!.id })
  const owed = (sql: TestService) => sql.services.database.reads`select name, data from outbox order by id`
  expect([...(await owed(other))]).toEqual([...(await owed(scene.service))])
})

test('a file that is there is not written over, and one that cannot be opened is named', async () => {
  await writeFile(file, 'precious')
  expect(await scene.admin(scene.own, 'backup', file)).toEqual({
    code: 1,
    text: `${file} exists already: name another file`,
  })
  expect(await readFile(file, 'utf8')).toBe('precious')
  for (const verb of ['backup', 'restore'])
    expect(await scene.admin(scene.own, verb, join(scene.dir, 'none', 'file'))).toEqual({
      code: 1,
      text: expect.stringContaining('cannot be opened: ENOENT'),
    })
})

test('a database that holds something is replaced only when that is said', async () => {
  await scene.admin(scene.own, 'backup', file)
  const url = await scene.fresh()
  await migrate(url)
  await using other = await openTestService({ DATABASE_URL: url })
  const bea = await register(other.client)
  expect(await scene.admin(url, 'restore', file)).toEqual({
    code: 1,
    text: expect.stringContaining('is not empty'),
  })
  expect((await scene.admin(url, 'restore', file, 'please')).code).toBe(1)
  expect((await bea.get('/auth/me')).status).toBe(200)
  expect((await scene.admin(url, 'restore', file, 'replace')).code).toBe(0)
  expect(await scene.answersOn(url)).toEqual(await scene.answersOn(scene.own))
})
