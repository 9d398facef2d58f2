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

test('an index that could not be made is made anew, and what came before it is not done twice', async () => {
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

test('a table is written while its index is made', async () => {
  await sql`update plates set name = name || id`
  // Keeps the index from being finished: it waits for all that had begun to write before.
  const release = await holdTransaction(sql, (tx) => tx`insert into plates values (0, 'held')`)
  const made = applyMissing(sql, [later(index)])
  await untilBlocked(sql, 1, 'CREATE UNIQUE INDEX%')
  await sql`insert into plates values (101, 'another')`
  await Promise.all([release(), made])
  expect(await isValid()).toBe(true)
})

test('a change that cannot have its table is put off, with all of its migration', async () => {
  const one = later('CREATE TABLE "forks" ("id" int4);', 'ALTER TABLE "plates" ADD COLUMN "size" int4;')
  const release = await holdTransaction(sql, (tx) => tx`select from plates`)
  await expect(applyMissing(sql, [one])).rejects.toMatchObject({ code: '55P03' })
  await release()
  await applyMissing(sql, [one])
  expect(await countApplied(sql)).toBe(before + 1)
})
