import type { TransactionSql } from 'postgres'
import { readTaskFilter } from '../../modules/task-lists/list-query.ts'
import { listTasks } from '../../modules/task-lists/list.ts'
import { sorts } from '../../modules/task-lists/sorts.ts'
import { forFile, freshDatabase, newId, openTestService, type Sql } from '../kit.ts'
import { serversOf } from '../../src/postgres/connect.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { IdleTimeouts, unprepared } from '../../src/postgres/timeouts.ts'
import { copyRows } from '../../src/postgres/copy.ts'

const fresh = await forFile(freshDatabase())
const idleTimeouts = await forFile(new IdleTimeouts())

/** Opens a pool with one connection. */
async function openOne(maxStatementCharacters: number): Promise<Sql> {
  const options = { idleTimeouts, pooler: 'off', connections: 1, statementMs: 30_000, retries: true }
  const sql = openPool({ server: serversOf(fresh.url)[0]!, ...options, maxStatementCharacters })
  await forFile({ close: () => sql.end({ timeout: 1 }) })
  return sql
}

const preparedOn = (sql: Sql) =>
  unprepared(sql<{ name: string; statement: string }[]>`select name, statement from pg_prepared_statements`)

/** The types of its parameters count as well. */
const characters = 105
const addTo = (sql: Sql, n: number) =>
  sql.unsafe<{ sum: number }[]>(`select $1::int + ${n} as sum`.padEnd(100), [1], { prepare: true })

test('deallocates the least recently used statements of a connection', async () => {
  const sql = await openOne(10 * characters)
  await addTo(sql, 0)
  const [first] = await preparedOn(sql)
  for (let n = 1; n <= 50; n++) {
    await addTo(sql, n)
    expect([...(await addTo(sql, 0))]).toEqual([{ sum: 1 }])
  }
  const left = await preparedOn(sql)
  expect(left.length).toBeLessThanOrEqual(11)
  expect(left).toContainEqual(first!)
  // Deallocated statements are prepared again, also if many queries are sent at once.
  const sums = await Promise.all(Array.from({ length: 50 }, (_, n) => addTo(sql, n)))
  expect(sums.map(([row]) => row!.sum)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
})

test('prepares a deallocated statement again without an error in Postgres', async () => {
  const sql = await openOne(2 * characters)
  const add = async () => {
    for (let n = 0; n < 6; n++) await addTo(sql, n)
  }
  const rollbacks = async () => {
    await sql`select pg_stat_force_next_flush()`
    const [row] = await unprepared(
      sql`select xact_rollback::int from pg_stat_database where datname = current_database()`,
    )
    return row!.xactRollback as number
  }
  await add()
  const before = await rollbacks()
  for (let round = 0; round < 3; round++) await add()
  expect(await rollbacks()).toBe(before)
})

test('bounds the statements of a new connection after the server has closed the previous connection', async () => {
  const sql = await openOne(5 * characters)
  for (let n = 0; n < 5; n++) await addTo(sql, n)
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where pid = pg_backend_pid()`.catch(
    () => {},
  )
  for (let n = 0; n < 20; n++) {
    await addTo(sql, n % 10)
    await addTo(sql, 0)
  }
  expect((await preparedOn(sql)).length).toBeLessThanOrEqual(6)
})

test('keeps a frequent list prepared while clients read more kinds of lists than a connection prepares', async () => {
  const sql = await openOne(60_000)
  const caller = { userId: newId() }
  const values = { status: 'TODO', priority: 'HIGH', assigneeId: caller.userId, dueBefore: '2027-01-31' }
  const kinds = sorts.flatMap((sort) =>
    Array.from({ length: 16 }, (_, bits) => ({
      ...Object.fromEntries(Object.entries(values).filter((__, n) => bits & (1 << n))),
      ...{ sort, projectId: newId() },
    })),
  )
  const usual = readTaskFilter({ projectId: newId() }, caller)
  const preparedAs = async () => new Set((await preparedOn(sql)).map(({ name }) => name))
  await listTasks(sql, usual)
  const own = await preparedAs()
  expect(kinds.length).toBeGreaterThan(76)
  for (const kind of kinds) {
    await listTasks(sql, readTaskFilter(kind as never, caller))
    await listTasks(sql, usual)
  }
  const left = await preparedAs()
  expect([...own].filter((name) => !left.has(name))).toEqual([])
  expect(left.size).toBeWithin(10, 60)
})

const { database } = (await forFile(openTestService())).services
const background = database.background
await background`create table numbers (n int4 primary key)`

const lines = (...numbers: (number | string)[]) => numbers.map((n) => Buffer.from(`${n}\n`))
const copyTo = (tx: TransactionSql, rows: Parameters<typeof copyRows>[1]) =>
  copyRows(tx.unsafe('copy numbers from stdin'), rows)
const copyAll = (rows: Parameters<typeof copyRows>[1]) => background.begin((tx) => copyTo(tx, rows))

test('stores the rows before the next statement', async () => {
  const found = await background.begin(async (tx) => {
    await copyTo(tx, lines(1, 2))
    await copyTo(tx, [])
    return tx`select n from numbers order by n`
  })
  expect([...found]).toEqual([{ n: 1 }, { n: 2 }])
})

test('throws the error of Postgres about a row, also about the last row', async () => {
  for (const rows of [lines('x'), lines(5, 'x'), lines(5, 5), lines('x', ...Array(500).fill(6))])
    await expect(copyAll(rows)).rejects.toMatchObject({ code: expect.stringMatching(/^(22P02|23505)$/) })
  expect([...(await background`select n from numbers where n > 4`)]).toEqual([])
})

test('throws the error of the source, and rolls back', async () => {
  async function* broken() {
    yield* lines(7)
    throw new Error('the disk is broken')
  }
  await expect(copyAll(broken())).rejects.toThrow('the disk is broken')
  expect([...(await background`select n from numbers where n = 7`)]).toEqual([])
})

test('throws an error if the connection ends before Postgres has stored the rows', async () => {
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<number>()
  async function* endless() {
    for (let n = 8; ; n++) {
      yield* lines(n)
      await Bun.sleep(1)
    }
  }
  const copying = background.begin(async (tx) => {
    const [row] = await tx`select pg_backend_pid() as pid`
    begin(row!.pid)
    await copyTo(tx, endless())
  })
  const failed = copying.catch(({ code }) => code)
  await database.reads`select pg_terminate_backend(${await hasBegun})`
  expect(await failed).toMatch(/^(CONNECTION_|ECONN|EPIPE|57P01)/)
  expect([...(await background`select 1 as one`)]).toEqual([{ one: 1 }])
})
