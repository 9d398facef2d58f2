import { beforeEach, expect, test } from 'bun:test'
import postgres from 'postgres'
import { applyMissing, countApplied } from '../../drizzle/apply.ts'
import { freshDatabase, holdTransaction, untilBlocked } from '../support/database.ts'
import { forFile } from '../support/service.ts'

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
