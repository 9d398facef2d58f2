import type { TransactionSql } from 'postgres'
import { copyRows } from '../../src/postgres/copy.ts'
import { forFile, openTestService } from '../kit.ts'

const { database } = (await forFile(openTestService())).services
const sql = database.background
await sql`create table numbers (n int4 primary key)`

const lines = (...numbers: (number | string)[]) => numbers.map((n) => Buffer.from(`${n}\n`))
const copyTo = (tx: TransactionSql, rows: Parameters<typeof copyRows>[1]) =>
  copyRows(tx.unsafe('copy numbers from stdin'), rows)
const copyAll = (rows: Parameters<typeof copyRows>[1]) => sql.begin((tx) => copyTo(tx, rows))

test('stores the rows before the next statement', async () => {
  const found = await sql.begin(async (tx) => {
    await copyTo(tx, lines(1, 2))
    await copyTo(tx, [])
    return tx`select n from numbers order by n`
  })
  expect([...found]).toEqual([{ n: 1 }, { n: 2 }])
})

test('throws the error of Postgres about a row, also about the last row', async () => {
  for (const rows of [lines('x'), lines(5, 'x'), lines(5, 5), lines('x', ...Array(500).fill(6))])
    await expect(copyAll(rows)).rejects.toMatchObject({ code: expect.stringMatching(/^(22P02|23505)$/) })
  expect([...(await sql`select n from numbers where n > 4`)]).toEqual([])
})

test('throws the error of the source, and rolls back', async () => {
  async function* broken() {
    yield* lines(7)
    throw new Error('the disk is broken')
  }
  await expect(copyAll(broken())).rejects.toThrow('the disk is broken')
  expect([...(await sql`select n from numbers where n = 7`)]).toEqual([])
})

test('throws an error if the connection ends before Postgres has stored the rows', async () => {
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<number>()
  async function* endless() {
    for (let n = 8; ; n++) {
      yield* lines(n)
      await Bun.sleep(1)
    }
  }
  const copying = sql.begin(async (tx) => {
    const [row] = await tx`select pg_backend_pid() as pid`
    begin(row!.pid)
    await copyTo(tx, endless())
  })
  const failed = copying.catch(({ code }) => code)
  await database.reads`select pg_terminate_backend(${await hasBegun})`
  expect(await failed).toMatch(/^(CONNECTION_|ECONN|EPIPE|57P01)/)
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})
