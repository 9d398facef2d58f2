import { finished } from 'node:stream/promises'
import { eventually, forFile, freshEnv, isTransient, mayBeWritten, openDatabase, readConfig } from '../kit.ts'
import type { Sql } from '../kit.ts'
import { openSilentLine } from '../races/silent-line.ts'

// A connection that is silent for about a second counts as broken.
const { env } = await forFile(freshEnv({ BACKGROUND_TIMEOUT_MS: '500', BACKGROUND_CONNECTIONS: '1' }))
const line = await forFile(openSilentLine(env.DATABASE_URL!))
const database = await forFile(openDatabase(readConfig({ ...env, DATABASE_URL: line.url })))
const sql = database.background
const errorOf = (transaction: Promise<unknown>) => transaction.catch((error: unknown) => error)

// A slow machine may need more than a second for a new connection.
afterEach(() =>
  eventually(
    'a working connection',
    async () => !((await errorOf(sql.begin((tx) => tx`select 1`))) instanceof Error),
  ),
)

type Transaction = Parameters<Parameters<Sql['begin']>[1]>[0]

/** The connection goes silent, and accepts data. */
const work: Record<string, (tx: Transaction) => Promise<unknown>> = {
  'before a statement': async (tx) => {
    await tx`select 1`
    line.silenceOpen()
    await tx`select 2`
  },
  'after the first reply to several statements': async (tx) => {
    const [first, second] = [tx`select 1`, tx`select pg_sleep(0.1)`].map((one) => one.execute())
    await first
    line.silenceOpen()
    await second
  },
  'before COPY ends': async (tx) => {
    const copy = await tx`copy import_chunks (import_id, n, bytes) from stdin`.writable()
    line.silenceOpen()
    copy.end()
    await finished(copy)
  },
  'before COMMIT': async (tx) => {
    await tx`select 1`
    line.silenceOpen()
  },
  'before ROLLBACK': async (tx) => {
    await tx`select 1`
    line.silenceOpen()
    throw new Error('failed')
  },
}

test.each(Object.keys(work))('a transaction whose connection goes silent %s fails', async (name) => {
  const error = await errorOf(sql.begin(work[name]!))
  expect(isTransient(error)).toBe(true)
  if (name === 'before COMMIT') expect(mayBeWritten(error)).toBe(true)
})

test('a transaction whose connection is silent before BEGIN, or busy for too long, fails and runs no work', async () => {
  let calls = 0
  const begin = () => errorOf(sql.begin(async () => void calls++))
  await sql`select 1`
  line.silenceOpen()
  expect(isTransient(await begin())).toBe(true)
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = errorOf(
    sql.begin(async () => {
      begun.resolve()
      await released.promise
    }),
  )
  await begun.promise
  expect(isTransient(await begin())).toBe(true)
  released.resolve()
  await first
  expect(calls).toBe(0)
})
