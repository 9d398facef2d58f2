import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'node:net'
import postgres from 'postgres'
import { serversOf } from '../../src/postgres/connect.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { errorCode, eventually, forFile, freshDatabase, listen, openTcpProxyTo, upTo } from '../kit.ts'

// src/postgres/postgres.patch corrects the defects of postgres.js 3.4.9 that these tests describe.

const fresh = await forFile(freshDatabase())
const line = await forFile(openTcpProxyTo(fresh.url, { intercept: () => false }))
const open = (url: string) => {
  const sql = postgres(url, { max: 1, backoff: () => 0.1, fetch_types: false, onnotice: () => {} })
  return forFile(Object.assign(sql, { close: () => sql.end({ timeout: 0 }) }))
}
const codeOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => 'done',
    (error: unknown) => errorCode(error),
  )

test('connects again after each cut, and neither sends old data nor returns old rows', async () => {
  const sql = await open(line.url)
  for (const n of upTo(3)) {
    const slow = codeOf(sql`select ${n}::int4, pg_sleep(1) from generate_series(1, 3)`)
    await sleep(100)
    line.cut()
    const sentMeanwhile = codeOf(sql`select 1`)
    expect(await slow).not.toBe('done')
    await sentMeanwhile
    expect([...(await sql`select ${n}::int4 as n`)]).toEqual([{ n }])
  }
})

test('a query fails if the server closes each connection before the startup, and attempts have pauses', async () => {
  let attempts = 0
  const server = createServer((peer) => {
    attempts++
    peer
      .on('error', () => {})
      .resume()
      .end()
  })
  const { port } = await forFile(listen(server))
  const sql = await open(`postgres://docket@127.0.0.1:${port}/docket`)
  const outcomes = await Promise.all(upTo(3).map(() => codeOf(sql`select 1`)))
  expect(outcomes).toEqual(upTo(3).map(() => 'CONNECTION_CLOSED'))
  expect(attempts).toBeLessThanOrEqual(3)
})

test('a transaction whose connection is cut fails, and sends nothing on the next connection', async () => {
  const sql = await open(line.url)
  await sql`create table notes (text text)`
  const [isCut, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let later = ''
  const cut = codeOf(
    sql.begin(async (tx) => {
      await tx`insert into notes values ('before')`
      isCut.resolve()
      await mayContinue.promise
      later = await codeOf(tx`insert into notes values ('after')`)
    }),
  )
  await isCut.promise
  line.cut()
  expect(await cut).toBe('CONNECTION_CLOSED')
  await sql.begin(async (tx) => {
    await tx`insert into notes values ('other')`
    mayContinue.resolve()
    await sleep(100)
    expect([...(await tx`select text from notes`)]).toEqual([{ text: 'other' }])
  })
  expect(later).toBe('CONNECTION_CLOSED')
  expect([...(await sql`select text from notes`)]).toEqual([{ text: 'other' }])
})

test('a connection with too many statements is closed, and opened again without a pause', async () => {
  const options = { max: 1, fetch_types: false, backoff: () => 3_600, max_statement_characters: 10 }
  const sql = postgres(fresh.url, options)
  await forFile({ close: () => sql.end({ timeout: 0 }) })
  const pids = await Promise.all(upTo(3).map((n) => sql`select pg_backend_pid() + 0 * ${n}::int4 as pid`))
  const [later] = await sql`select pg_backend_pid() as pid`
  expect(pids.flat().map(({ pid }) => pid)).not.toContain(later!.pid)
}, 10_000)

test('a pooler gets no other query before the reply to a query, also when the query is repeated', async () => {
  const texts: string[] = []
  const pooler = await forFile(
    openTcpProxyTo(fresh.url, {
      intercept(chunk, to, { server }) {
        if (to === server) texts.push(...(String(chunk).match(/(slow|other) query/g) ?? []))
        return false
      },
    }),
  )
  const options = { pooler: 'on', connections: 1, statementMs: 30_000, retries: true }
  const sql = openPool({ server: serversOf(pooler.url)[0]!, ...options })
  await forFile({ close: () => sql.end({ timeout: 0 }) })
  await sql`create sequence attempts`
  await sql`create function fail_once() returns void language plpgsql as $$ begin
    if nextval('attempts') = 1 then raise sqlstate '53000'; end if;
    perform pg_sleep(0.5); end $$`
  const textsAtReply = sql`select 'slow query', fail_once()`.then(() => [...texts])
  await eventually('the second attempt', () => texts.length === 2)
  await sql`select 'other query'`
  expect(await textsAtReply).toEqual(['slow query', 'slow query'])
})
