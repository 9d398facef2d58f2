import { pipeline } from 'node:stream/promises'
import { errorCode, forFile, freshDatabase, openScene, type Sql, upTo } from '../kit.ts'
import { serversOf } from '../../src/postgres/connect.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'

const fresh = await forFile(freshDatabase())
/** The types of its parameters count as well. */
const charactersOfStatement = 105

/** Opens a pool with one connection, which prepares about this many statements. */
async function openOne(statements: number): Promise<Sql> {
  const options = { pooler: 'off', connections: 1, statementMs: 30_000, retries: true }
  const maxStatementCharacters = statements * charactersOfStatement
  const sql = openPool({ server: serversOf(fresh.url)[0]!, ...options, maxStatementCharacters })
  await forFile({ close: () => sql.end({ timeout: 1 }) })
  return sql
}

const preparedOn = (sql: Sql) => unprepared(sql`select name, statement from pg_prepared_statements`)
const add = async (sql: Sql, n: number) => {
  const text = `select $1::int + ${n} as sum`.padEnd(100)
  return (await sql.unsafe<{ sum: number }[]>(text, [1], { prepare: true }))[0]!.sum
}

/** Returns how many statements have failed in Postgres. */
async function failuresOn(sql: Sql): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  const [row] = await unprepared(
    sql`select xact_rollback::int from pg_stat_database where datname = current_database()`,
  )
  return row!.xactRollback
}

test('renews a connection with too many statements, and prepares them again', async () => {
  const sql = await openOne(10)
  for (const n of upTo(50)) {
    await add(sql, n)
    expect(await add(sql, 0)).toBe(1)
    expect((await preparedOn(sql)).length).toBeLessThanOrEqual(11)
  }
  expect(await Promise.all(upTo(50).map((n) => add(sql, n)))).toEqual(upTo(50).map((n) => n + 1))
  expect(await failuresOn(sql)).toBe(0)
})

test('bounds the statements of a new connection after the server has closed the previous connection', async () => {
  const sql = await openOne(5)
  for (const n of upTo(5)) await add(sql, n)
  await sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => {})
  const failures = await failuresOn(sql)
  for (const n of upTo(20)) for (const one of [n % 10, 0]) await add(sql, one)
  expect((await preparedOn(sql)).length).toBeLessThanOrEqual(6)
  expect(await failuresOn(sql)).toBe(failures)
})

const { sql } = await openScene([], {})
await sql`create table numbers (n int4 primary key)`

const lines = (...numbers: (number | string)[]) => numbers.map((n) => Buffer.from(`${n}\n`))

async function* broken() {
  yield* lines(7)
  throw new Error('the disk is broken')
}

test('a copy throws the error of Postgres about a row, or of its source, and stores nothing', async () => {
  const failing = [lines('x'), lines(5, 'x'), lines(5, 5), lines('x', ...Array(500).fill(6)), broken()]
  const copyOf = (rows: (typeof failing)[number]) =>
    sql
      .begin(async (tx) => pipeline(rows, await tx.unsafe('copy numbers from stdin').writable()))
      .catch((error: Error) => error)
  const errors = await Promise.all(failing.map(copyOf))
  expect(errors.map(errorCode)).toEqual(['22P02', '22P02', '23505', '22P02', ''])
  expect(errors.at(-1)).toMatchObject({ message: 'the disk is broken' })
  expect([...(await sql`select n from numbers`)]).toEqual([])
})
