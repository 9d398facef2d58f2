import { forFile, freshDatabase, openDatabase, readConfig } from '../kit.ts'
import { errorCode, isTransient } from '../../src/postgres/errors.ts'
import { listsOf, rowsFrom } from '../../src/commit/statement.ts'
import type { Column } from '../../src/postgres/columns.ts'

const fresh = await forFile(freshDatabase())
// One connection, so that data left over from one query would reach the next query.
const database = await forFile(openDatabase(readConfig({ DATABASE_URL: fresh.url, READ_CONNECTIONS: '1' })))

const numbers = async () => {
  const rows = await database.reads<{ n: number }[]>`select n from generate_series(1, 5) n`
  return [...rows].map((row) => row?.n)
}

test('a query that fails while it returns rows does not affect the next query', async () => {
  const sql = database.reads
  const failing = sql`select 1 / (4 - n) from generate_series(1, 10) n`.catch(() => 'failed')
  const next = numbers()
  expect(await failing).toBe('failed')
  expect(await next).toEqual([1, 2, 3, 4, 5])
  const unsafe = sql.unsafe('select 1 / (4 - n) from generate_series(1, 10) n').catch(() => 'failed')
  const [row] = await sql.unsafe<{ one: number }[]>('select 1 as one')
  expect({ unsafe: await unsafe, row }).toEqual({ unsafe: 'failed', row: { one: 1 } })
})

test('a connection that is cut while it returns rows does not affect the next query', async () => {
  const sql = database.reads
  const cut = sql`select n, case when n = 3000 then pg_terminate_backend(pg_backend_pid()) end
    from generate_series(1, 5000) n`
  expect(isTransient(await cut.catch((error: unknown) => error))).toBe(true)
  let found: (number | undefined)[] | undefined
  while (!found) found = await numbers().catch(() => undefined)
  expect(found).toEqual([1, 2, 3, 4, 5])
})

test('array parameters reach the database unchanged, whatever characters they contain', async () => {
  const texts = ['plain', 'a "quoted" \\ one', '{braces, commas}', '', ' null ', 'null']
  const sql = database.reads
  const rows = await sql<{ text: string }[]>`select unnest(${texts}::text[]) as text`
  expect(rows.map(({ text }) => text)).toEqual(texts)
  const id = '00000000-0000-7000-8000-000000000001'
  expect(await sql`select 1 where ${id}::uuid = any(${[id]}::uuid[])`).toHaveLength(1)
  expect(await sql`select 1 where ${id}::uuid = any(${[] as string[]}::uuid[])`).toHaveLength(0)
})

const column = (key: string, type: string): Column => ({ key, name: key, type })
const columns = [column('n', 'integer'), column('id', 'uuid'), column('text', 'text'), column('doc', 'jsonb')]

async function roundTrip(rows: object[]): Promise<object[]> {
  const found = await database.reads.unsafe(rowsFrom(columns, 1), listsOf(columns, rows), { prepare: true })
  return [...found]
}

const texts = [
  '',
  'null',
  'NULL',
  '"',
  '\\',
  '\\"',
  '{a,b}',
  ',',
  ' a ',
  'a\nb',
  '\r\n\t\u001e',
  "'; --",
  'ßœ漢😀',
  '\u2028',
  '$1',
]
const id = '019ab2f0-0000-7000-8000-000000000000'

test('rows written as arrays of columns are read back unchanged, whatever characters they contain', async () => {
  const rows = texts.map((text, n) => ({ n, id, text, doc: { [text]: text, deep: [text, null, 0.5, true] } }))
  expect(await roundTrip(rows)).toEqual(rows)
})

test('a column that an insert omits is read as null', async () => {
  const nothing = { id: null, text: null, doc: null }
  expect(await roundTrip([{ n: 1 }])).toEqual([{ n: 1, ...nothing }])
  const something = { n: 2, id, text: 'null', doc: {} }
  expect(await roundTrip([{ n: 1 }, something, { n: 3, ...nothing }])).toEqual([
    { n: 1, ...nothing },
    something,
    { n: 3, ...nothing },
  ])
  expect(await roundTrip([])).toEqual([])
})

test.each(['reads', 'expensive'] as const)(
  'a statement of %s that takes too long is not repeated',
  async (pool) => {
    const short = await forFile(
      openDatabase(readConfig({ DATABASE_URL: fresh.url, READ_TIMEOUT_MS: '2000' })),
    )
    const attempts = `attempts_${pool}`
    await database.background`create sequence ${database.background(attempts)}`
    const slow = short[pool]`select nextval(${attempts}::text::regclass), pg_sleep(60)`
    expect(errorCode(await slow.catch((error: unknown) => error))).toBe('57014')
    const [next] = await database.background<
      { n: string }[]
    >`select nextval(${attempts}::text::regclass) as n`
    expect(Number(next!.n)).toBe(2)
  },
)
