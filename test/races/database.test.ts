import { errorCode, forFile, freshDatabase, isTransient, openDatabase, readConfig } from '../kit.ts'

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
