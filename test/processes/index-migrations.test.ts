import { createHash } from 'node:crypto'
import postgres from 'postgres'
import { applyMissing, countApplied, knownMigrations, migrate } from '../../drizzle/migrate.ts'
import { eventually, forFile, freshDatabase, holdTransaction, untilBlocked } from '../kit.ts'

let before: number
const fresh = await forFile(freshDatabase())
const sql: postgres.Sql = await forFile(postgres(fresh.url, { max: 3, prepare: false, onnotice: () => {} }))
beforeEach(async () => {
  await sql`drop table if exists plates`
  await sql`create table plates (id int4, name text)`
  await sql`insert into plates select n, 'plate' from generate_series(1, 100) n`
  before = await countApplied(sql)
})

let at = 9_000_000_000_000
const later = (...statements: string[]) => ({
  ...{ sql: statements, hash: crypto.randomUUID(), folderMillis: ++at, bps: true },
})
const isValid = async () =>
  (await sql`select indisvalid from pg_index where indexrelid = to_regclass('plates_name')`)[0]?.indisvalid
const index = 'CREATE UNIQUE INDEX CONCURRENTLY "plates_name" ON "plates" USING btree ("name");'

test('a failed index is created again, and earlier statements do not run twice', async () => {
  const one = later('ALTER TABLE "plates" ADD COLUMN "size" int4;', index)
  const all = [one, later('ALTER TABLE "plates" ADD COLUMN "later" int4;')]
  await expect(applyMissing(sql, all)).rejects.toThrow('could not create unique index')
  expect([await isValid(), await countApplied(sql)]).toEqual([false, before])
  await sql`update plates set name = name || id`
  await applyMissing(sql, all)
  expect([await isValid(), await countApplied(sql)]).toEqual([true, before + 2])
  await applyMissing(sql, all)
  expect(await countApplied(sql)).toBe(before + 2)
})

test('a table accepts writes while its index is created', async () => {
  await sql`update plates set name = name || id`
  // Postgres finishes the index only after the open transaction has ended.
  const release = await holdTransaction(sql, (tx) => tx`insert into plates values (0, 'held')`)
  const created = applyMissing(sql, [later(index)])
  await untilBlocked(sql, 1, 'CREATE UNIQUE INDEX%')
  await sql`insert into plates values (101, 'another')`
  await Promise.all([release(), created])
  expect(await isValid()).toBe(true)
})

test('a migration that cannot lock its table fails as a whole, and can be repeated', async () => {
  const one = later('CREATE TABLE "forks" ("id" int4);', 'ALTER TABLE "plates" ADD COLUMN "size" int4;')
  const release = await holdTransaction(sql, (tx) => tx`select from plates`)
  await expect(applyMissing(sql, [one])).rejects.toMatchObject({ code: '55P03' })
  await release()
  await applyMissing(sql, [one])
  expect(await countApplied(sql)).toBe(before + 1)
})

test('a migration that waits for another migration has no open transaction, which would block index creation', async () => {
  const release = await holdTransaction(sql, (tx) => tx`select pg_advisory_xact_lock(${0x646f636b})`)
  const waiting = migrate(fresh.url)
  const transactionStarts = new Set<string>()
  await eventually('a second transaction of the waiting migration', async () => {
    const transactions = await sql<{ at: string }[]>`select xact_start::text as at from pg_stat_activity
      where datname = current_database() and xact_start is not null and query like '%pg_try_advisory_xact_lock%'
        and pid <> pg_backend_pid()`
    for (const { at } of transactions) transactionStarts.add(at)
    return transactionStarts.size > 1
  })
  await Promise.all([release(), waiting])
})

const [replaced, after] = [knownMigrations().slice(0, 25), knownMigrations().slice(25)]
const recorded = (one: postgres.Sql) =>
  one<{ hash: string; createdAt: string }[]>`
    select hash, created_at as "createdAt" from drizzle.__drizzle_migrations order by id`
const asRecorded = (migrations: typeof after) =>
  migrations.map(({ hash, folderMillis }) => ({ hash, createdAt: String(folderMillis) }))

async function emptied() {
  const { url } = await forFile(freshDatabase('template0'))
  return forFile(postgres(url, { max: 3, prepare: false, onnotice: () => {} }))
}

test('an empty database begins with the baseline, and records the migrations that the baseline replaces', async () => {
  const one = await emptied()
  await applyMissing(one, replaced)
  const digest = createHash('sha256')
    .update(JSON.stringify(await recorded(one)))
    .digest('hex')
  // Computed from the files of the 25 replaced migrations.
  expect(digest).toBe('fcf7a192c771ef2e3989b07349042a16aa3a1de165ee5962e96970ddd36b49af')
  await applyMissing(one, [...replaced, ...after])
  expect([...(await recorded(one))]).toEqual(asRecorded([...replaced, ...after]))
  expect(await countApplied(one)).toBe(25 + after.length)
})

test('a database with some of the replaced migrations is rejected with the command that helps, and is not changed', async () => {
  const one = await emptied()
  await applyMissing(one, replaced)
  await one`delete from drizzle.__drizzle_migrations where hash = ${replaced.at(-1)!.hash}`
  await expect(applyMissing(one, knownMigrations())).rejects.toThrow(
    'run "npm run migrate" with the release of commit 240b63a2, then with this release',
  )
  expect(await countApplied(one)).toBe(24)
})
