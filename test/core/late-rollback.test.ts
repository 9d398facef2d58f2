import { Socket } from 'node:net'
import postgres from 'postgres'
import { closeOnError, withoutLateEnd } from '../../src/postgres/workarounds.ts'
import { eventually, forFile, freshDatabase, openTcpProxyTo } from '../kit.ts'

const soonMs = 300
const fresh = await forFile(freshDatabase())

test('a connection that breaks within a transaction rejects the transaction, and sends no rollback', async () => {
  const line = await forFile(openTcpProxyTo(fresh.url, { intercept: () => false }))
  const sockets: Socket[] = []
  const socket = async () => {
    const one = new Socket().connect(Number(new URL(line.url).port), '127.0.0.1')
    closeOnError(one)
    sockets.push(one)
    return one
  }
  const options = { max: 1, fetch_types: false, socket } as postgres.Options<{}>
  const sql = withoutLateEnd(postgres(line.url, options))
  await forFile({ close: () => sql.end({ timeout: 0 }) })
  const ended = sql.begin(async (tx) => {
    const [first, second] = [tx`select pg_sleep(60)`, tx`select 1`]
    await eventually('the first query', async () => sockets.length === 1)
    setTimeout(line.cut, soonMs)
    await Promise.all([first, second])
  })
  expect(await ended.catch(({ code }: { code: string }) => code)).toBe('CONNECTION_CLOSED')
  await Bun.sleep(soonMs)
  expect(sockets).toHaveLength(1)
})

test('a transaction whose work fails is rolled back', async () => {
  const sql = withoutLateEnd(await forFile(postgres(fresh.url, { max: 1, fetch_types: false })))
  await sql`create table rolled_back (n int)`
  const work = sql.begin(async (tx) => {
    await tx`insert into rolled_back values (1)`
    throw new Error('failed')
  })
  await expect(work).rejects.toThrow('failed')
  expect(await sql`select from rolled_back`).toHaveLength(0)
  expect(await sql.begin((tx) => tx`select 1 as one`)).toEqual([{ one: 1 }] as never)
})
