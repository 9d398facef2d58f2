import { readFile, stat, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { withConnections, isMigrated, knownMigrations } from '../../drizzle/migrate.ts'
import { forFile, freshDatabase, make, openTestService, register, type TestService } from '../kit.ts'
import { openBackupScene } from './backup-scene.ts'
import { applyMissing } from '../../drizzle/apply.ts'
import { isDerived, tablesOf } from '../../workers/one-off/backup-format.ts'

let file: string
const scene = await openBackupScene()
beforeEach(() => void (file = scene.newFile()))
const backup = scene.newFile()
const made = await scene.admin(scene.own, 'backup', backup)
const restored = await scene.fresh()
const restoration = await scene.admin(restored, 'restore', backup)
const answers = await scene.answersOn(scene.own)

test('a service on a restored database gives byte-identical responses', async () => {
  expect(made).toEqual({
    code: 0,
    text: expect.stringContaining(`The backup is in ${backup}. Keep JWT_SECRET too`),
  })
  expect((await stat(backup)).mode & 0o777).toBe(0o600)
  expect(restoration).toEqual({ code: 0, text: 'The backup is restored' })
  expect(answers.filter(([, status]) => status !== 200)).toEqual([])
  expect(await scene.answersOn(restored)).toEqual(answers)
})

test('a backup contains every table, except the tables of the search index', async () => {
  const copied = [
    ...gunzipSync(await readFile(backup))
      .toString()
      .matchAll(/^COPY "(\w+)"/gm),
  ]
  const found = await withConnections(
    scene.own,
    (sql) => sql`select tablename as name from pg_tables where schemaname = 'public'`,
  )
  const names = found.map(({ name }) => name).filter((name) => !isDerived(name))
  expect(copied.map(([, name]) => name!).sort()).toEqual(names.sort())
})

test('backs up and restores a table with 20,000 rows', async () => {
  const [{ url: many }, restored] = [await forFile(freshDatabase()), await scene.fresh()]
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

test('restores a backup while the system confirms each write late', async () => {
  const restored = await scene.fresh()
  const { write } = Socket.prototype as { write: (...all: unknown[]) => boolean }
  Socket.prototype.write = function (this: Socket, bytes: unknown, done?: () => void) {
    return write.call(this, bytes, done && (() => setTimeout(done, 20)))
  } as never
  const restoring = scene.admin(restored, 'restore', backup)
  expect(await restoring.finally(() => (Socket.prototype.write = write as never))).toEqual(restoration)
  expect(await scene.answersOn(restored)).toEqual(answers)
})

test('a restored service accepts writes, and its outbox has the same jobs', async () => {
  await using other = await openTestService({ DATABASE_URL: restored })
  const caller = other.client.as(scene.ada.token)
  const [project] = (await caller.get('/projects')).body
  await make(caller, '/tasks', { title: 'After it', projectId: project!.id })
  const jobsIn = (sql: TestService) => sql.services.database.reads`select name, data from outbox order by id`
  expect([...(await jobsIn(other))]).toEqual([...(await jobsIn(scene.service))])
})

test('does not overwrite an existing file, and names a file that cannot be opened', async () => {
  await writeFile(file, 'precious')
  expect(await scene.admin(scene.own, 'backup', file)).toEqual({
    code: 1,
    text: `${file} already exists; name another file`,
  })
  expect(await readFile(file, 'utf8')).toBe('precious')
  for (const verb of ['backup', 'restore'])
    expect(await scene.admin(scene.own, verb, join(scene.dir, 'none', 'file'))).toEqual({
      code: 1,
      text: expect.stringContaining('cannot be opened: ENOENT'),
    })
})

test('the backup of a database that is not migrated names the command that migrates', async () => {
  expect(await scene.admin(await scene.fresh(), 'backup', file)).toEqual({
    code: 1,
    text: 'The database is not migrated: run npm run migrate first',
  })
  await expect(stat(file)).rejects.toThrow('ENOENT')
})

test('restore overwrites existing data only if the command ends with the word replace', async () => {
  await using other = await openTestService()
  const url = other.env.DATABASE_URL!
  const bea = await register(other.client)
  expect(await scene.admin(url, 'restore', backup)).toEqual({
    code: 1,
    text: expect.stringContaining('is not empty'),
  })
  expect((await scene.admin(url, 'restore', backup, 'please')).code).toBe(1)
  expect((await bea.get('/auth/me')).status).toBe(200)
  expect((await scene.admin(url, 'restore', backup, 'replace')).code).toBe(0)
  expect(await scene.answersOn(url)).toEqual(answers)
})

test('a damaged backup leaves the database unchanged', async () => {
  const whole = await readFile(backup)
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
    const { code, text } = await scene.admin(scene.own, 'restore', file, 'replace')
    expect([damage, code, text]).toEqual([
      damage,
      1,
      expect.stringMatching(/^(The backup is damaged|The file is not)/),
    ])
  }
  expect(await scene.answersOn(scene.own)).toEqual(answers)
})

/** Makes a statement fail for each row that a restore adds to the table of users. */
async function failingDatabase(statement: string): Promise<string> {
  const url = await scene.fresh()
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
    'The connection to Postgres was lost': 'perform pg_terminate_backend(pg_backend_pid())',
  }
  for (const [reason, statement] of Object.entries(broken)) {
    const url = await failingDatabase(statement)
    const { code, text } = await scene.admin(url, 'restore', backup)
    expect([code, text]).toEqual([1, expect.stringMatching(/^Nothing was restored\. /)])
    expect(text).toContain(reason)
    const tables = await withConnections(url, (sql) => sql`select from pg_tables where schemaname = 'public'`)
    expect(tables.length).toBe(0)
  }
  expect(await scene.admin(scene.own, 'restore', scene.dir, 'replace')).toEqual({
    code: 1,
    text: expect.stringMatching(/cannot be (read|opened): EISDIR/),
  })
})

test('restores and migrates a backup of an earlier release, and rejects a backup of a later release or of one before the baseline', async () => {
  const old = await scene.fresh()
  const migrations = knownMigrations()
  await withConnections(old, async (sql) => {
    await applyMissing(sql, migrations.slice(0, 25))
    await sql`insert into users (id, name, email, password_hash, created_at)
      values (gen_random_uuid(), 'Old', 'old@example.com', 'x', now())`
  })
  expect(await scene.admin(old, 'backup', file)).toMatchObject({ code: 0 })
  const restored = await scene.fresh()
  expect((await scene.admin(restored, 'restore', file)).code).toBe(0)
  expect(await isMigrated(restored)).toBe(true)
  const tables = tablesOf(migrations.slice(0, 25))
  expect(tables.length).toBeLessThan(tablesOf(migrations).length)
  const [user] = await withConnections(restored, (sql) => sql`select name from users`)
  expect(user).toEqual({ name: 'Old' })

  const written = gunzipSync(await readFile(file)).toString()
  const rejects = async (replaced: string | RegExp, by: string, problem: string) => {
    await writeFile(file, gzipSync(written.replace(replaced, by)))
    expect((await scene.admin(restored, 'restore', file)).text).toStartWith(problem)
  }
  await rejects('\n', ' 0123abc\n', 'A later release made the backup: restore the backup with that release')
  await rejects(
    / \w+\n/,
    '\n',
    'An earlier release made the backup: restore the backup with the release of commit',
  )
})
