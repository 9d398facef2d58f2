import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { applyMissing, isMigrated, knownMigrations, withConnections } from '../../drizzle/migrate.ts'
import { forFile, make, newFolder, openScene, openTestService, readConfig } from '../kit.ts'
import { register } from '../kit.ts'
import { isDerived, tablesOf } from '../../workers/one-off/backups.ts'
import { emptyDatabase } from '../processes/launch.ts'
import { execute } from './run-admin.ts'

const { service, ada } = await openScene(['Ada'], {})
const own = service.env.DATABASE_URL!
const dir = await newFolder()
const newFile = () => join(dir, crypto.randomUUID())
const fresh = async () => (await forFile(emptyDatabase())).url

async function admin(databaseUrl: string, ...words: string[]) {
  const config = readConfig({ ...service.env, DATABASE_URL: databaseUrl })
  return withConnections(databaseUrl, (sql) => execute(words, { config, sql }))
}

/** Texts that COPY must escape, or that look like the end of a table. */
const texts = [
  'tab\tand\nline\r\nends',
  '\\.',
  'a\n\\.\nb',
  '\\N',
  '"quoted", {json}',
  '𝄞 ünïcode',
  'x'.repeat(20_000),
]

const { id: projectId } = await make(ada, '/projects', { name: 'Kept', description: texts[0] })
const project = `/projects/${projectId}`
await ada.post(`${project}/members/invite`, { email: (await register(service.client)).email, role: 'EDITOR' })
const { id: taskId } = await make(ada, '/tasks', { title: 'Kept', projectId, description: texts[1] })
for (const text of texts) await make(ada, `/tasks/${taskId}/comments`, { text })
await make(ada, `${project}/webhooks`, { url: 'http://127.0.0.1:9/' })
const expiresAt = new Date(Date.now() + 3_600_000)
await make(ada, '/tokens', { name: 'Kept', scopes: ['read'], expiresAt })
await ada.delete(`/tasks/${(await make(ada, '/tasks', { title: 'Deleted', projectId })).id}`)
const paths = [
  ...['/auth/me', '/projects', '/tokens', project, `${project}?asOf=1`, `${project}/members`],
  ...[`${project}/webhooks`, `${project}/events`, `${project}/history`, `/tasks?projectId=${projectId}`],
  ...[`/tasks/${taskId}`, `/tasks/${taskId}/comments`, `/tasks/${taskId}/history`, '/search?q=kept'],
]

/** The backup before the database becomes large. */
const small = newFile()
await admin(own, 'backup', small)
await service.services.database.background`
  insert into idempotency_keys (scope, key, fingerprint, status, body)
  select 'scope', g::text, md5(g::text), 201, repeat(md5(g::text), 20) from generate_series(1, 20000) g`
const backup = newFile()
const made = await admin(own, 'backup', backup)
const restored = await fresh()
const restoration = await admin(restored, 'restore', backup)

/** The responses that a caller with an existing token gets from a service on this database, and rows that no response shows. */
async function contentOf(databaseUrl: string) {
  await using other = await openTestService({ DATABASE_URL: databaseUrl })
  const answers = await Promise.all(paths.map((path) => other.client.as(ada.token).get(path)))
  const { reads: sql } = other.services.database
  return [
    ...answers.map(({ status, text, headers }, at) => [paths[at], status, headers.get('etag'), text]),
    ...(await sql`select name, data from outbox order by id`),
    ...(await sql`select count(*), sum(hashtext(k::text)) from idempotency_keys k`),
  ]
}
const content = await contentOf(own)

test('a restored database has the same content, gives byte-identical responses, and accepts writes', async () => {
  expect(made).toEqual({
    code: 0,
    text: expect.stringContaining(`The backup is in ${backup}. Keep JWT_SECRET too`),
  })
  expect((await stat(backup)).mode & 0o777).toBe(0o600)
  expect(restoration).toEqual({ code: 0, text: 'The backup is restored' })
  expect(content.slice(0, paths.length).map((one) => (one as unknown[])[1])).toEqual(paths.map(() => 200))
  expect(await contentOf(restored)).toEqual(content)
  await using other = await openTestService({ DATABASE_URL: restored })
  await make(other.client.as(ada.token), '/tasks', { title: 'After it', projectId })
})

test('a backup contains every table, except the tables of the search index', async () => {
  const copied = gunzipSync(await readFile(backup))
    .toString()
    .matchAll(/^COPY "(\w+)"/gm)
  const found = await service.services.database.reads`
    select tablename as name from pg_tables where schemaname = 'public'`
  const names = found.map(({ name }) => name).filter((name) => !isDerived(name))
  expect(Array.from(copied, ([, name]) => name!).sort()).toEqual(names.sort())
})

test('a backup or restore that cannot begin prints the reason, and changes nothing', async () => {
  const file = newFile()
  await writeFile(file, 'precious')
  const [missing, empty] = [join(dir, 'none', 'file'), await fresh()]
  const problems: [url: string, words: string[], problem: RegExp][] = [
    [own, ['backup', file], /cannot be used: EEXIST/],
    [own, ['backup', missing], /cannot be used: ENOENT/],
    [own, ['restore', missing], /cannot be used: ENOENT/],
    [own, ['restore', dir, 'replace'], /cannot be used: EISDIR/],
    [own, ['restore', backup], /is not empty/],
    [own, ['restore', backup, 'please'], /./],
    [empty, ['backup', newFile()], /^The database is not migrated: run npm run migrate first$/],
  ]
  for (const [url, words, problem] of problems)
    expect(await admin(url, ...words)).toEqual({ code: 1, text: expect.stringMatching(problem) })
  expect(await readFile(file, 'utf8')).toBe('precious')
  await expect(stat(problems.at(-1)![1][1]!)).rejects.toThrow('ENOENT')
  expect(await contentOf(own)).toEqual(content)
})

test('restore replaces existing data if the command ends with the word replace', async () => {
  const other = await forFile(openTestService())
  await register(other.client)
  expect((await admin(other.env.DATABASE_URL!, 'restore', backup, 'replace')).code).toBe(0)
  expect(await contentOf(other.env.DATABASE_URL!)).toEqual(content)
})

test('a damaged backup leaves the database unchanged', async () => {
  const file = newFile()
  const whole = await readFile(small)
  const lines = gunzipSync(whole).toString().split('\n')
  const at = lines.findIndex((line) => line.startsWith('COPY "users"')) + 1
  const damages = {
    'cut off': whole.subarray(0, whole.length / 2),
    'without its end': gzipSync(lines.slice(0, -2).join('\n')),
    'ends in a table': gzipSync(lines.slice(0, at + 1).join('\n')),
    'a row without its columns': gzipSync(lines.with(at, 'x').join('\n')),
    'a row that is there twice': gzipSync(lines.toSpliced(at, 0, lines[at]!).join('\n')),
    'another statement': gzipSync(lines.toSpliced(1, 0, 'DROP TABLE "users";').join('\n')),
    'with another checksum': Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8)]),
    'with more lines after its end': gzipSync([...lines, 'more', ''].join('\n')),
    'not compressed': Buffer.from(lines.join('\n')),
    'no backup': gzipSync('select 1;\n'),
    empty: Buffer.alloc(0),
  }
  for (const [damage, content] of Object.entries(damages)) {
    await writeFile(file, content)
    const { code, text } = await admin(own, 'restore', file, 'replace')
    expect([damage, code, text]).toEqual([
      damage,
      1,
      expect.stringMatching(/^(The backup is damaged|The file is not)/),
    ])
  }
  expect(await contentOf(own)).toEqual(content)
})

/** Makes a statement fail for each row that a restore adds to the table of users. */
async function failingDatabase(statement: string): Promise<string> {
  const url = await fresh()
  await withConnections(url, (sql) =>
    sql.unsafe(`
      create function fail() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$;
      create function add_trigger() returns event_trigger language plpgsql as $$ begin
        if to_regclass('users') is not null and not exists (select from pg_trigger where tgname = 'fails') then
          create trigger fails before insert on users for each row execute function fail();
        end if;
      end $$;
      create event trigger tables_fail on ddl_command_end when tag in ('CREATE TABLE') execute function add_trigger()`),
  )
  return url
}

test('an error of Postgres or of the disk during a restore is printed as it is, and nothing is restored', async () => {
  const full = 'could not extend file "base/5/1259": No space left on device'
  const broken = {
    [full]: `raise '${full}' using errcode = 'disk_full'`,
    'out of memory': `raise 'out of memory' using errcode = 'out_of_memory'`,
    'permission denied for table users': `raise 'permission denied for table users' using errcode = '42501'`,
    CONNECTION_CLOSED: 'perform pg_terminate_backend(pg_backend_pid())',
  }
  for (const [reason, statement] of Object.entries(broken)) {
    const url = await failingDatabase(statement)
    await expect(admin(url, 'restore', small)).rejects.toThrow(reason)
    const tables = await withConnections(url, (sql) => sql`select from pg_tables where schemaname = 'public'`)
    expect(tables.length).toBe(0)
  }
})

test('restores and migrates a backup of an earlier release, and rejects a backup of another release', async () => {
  const [old, file] = [await fresh(), newFile()]
  const migrations = knownMigrations()
  await withConnections(old, async (sql) => {
    await applyMissing(sql, migrations.slice(0, 25))
    await sql`insert into users (id, name, email, password_hash, created_at)
      values (gen_random_uuid(), 'Old', 'old@example.com', 'x', now())`
  })
  expect(await admin(old, 'backup', file)).toMatchObject({ code: 0 })
  const restored = await fresh()
  expect((await admin(restored, 'restore', file)).code).toBe(0)
  expect(await withConnections(restored, isMigrated)).toBe(true)
  const tables = tablesOf(migrations.slice(0, 25))
  expect(tables.length).toBeLessThan(tablesOf(migrations).length)
  const [user] = await withConnections(restored, (sql) => sql`select name from users`)
  expect(user).toEqual({ name: 'Old' })

  const written = gunzipSync(await readFile(file)).toString()
  for (const [replaced, by] of [
    ['\n', ' 0123abc\n'],
    [/ \w+\n/, '\n'],
  ] as const) {
    await writeFile(file, gzipSync(written.replace(replaced, by)))
    expect((await admin(restored, 'restore', file)).text).toStartWith('Another release made the backup')
  }
})
