import { forFile, freshDatabase, isTransient, openDatabase, readConfig } from '../kit.ts'
import { openTlsProxy } from '../support/tls-proxy.ts'

const plain = await forFile(freshDatabase())
const front = await forFile(openTlsProxy(plain.url))

async function query(url: string) {
  const database = openDatabase(readConfig({ DATABASE_URL: url }))
  try {
    const all = Array.from({ length: 50 }, (_, n) => database.reads`select ${n}::int4 as n`)
    return (await Promise.all(all)).map(([row]) => row?.n)
  } catch (error) {
    return error as Error
  } finally {
    await database.close()
  }
}

const numbers = Array.from({ length: 50 }, (_, n) => n)
const inPlain = (mode: string) => `${plain.url}?sslmode=${mode}`

test('uses TLS with sslmode require and prefer', async () => {
  expect(await query(front.url('require'))).toEqual(numbers)
  expect(await query(front.url('prefer'))).toEqual(numbers)
})

test('to a server without TLS, sslmode=prefer connects, and sslmode=require fails with a temporary error', async () => {
  expect(await query(inPlain('prefer'))).toEqual(numbers)
  expect(await query(inPlain('disable'))).toEqual(numbers)
  const error = await query(inPlain('require'))
  expect(error).toMatchObject({ message: 'No TLS with Postgres: the server does not support TLS' })
  expect(isTransient(error)).toBe(true)
})

test('an untrusted certificate causes a temporary error', async () => {
  const error = await query(front.url('verify-full'))
  expect(error).toMatchObject({ message: expect.stringMatching(/^No TLS with Postgres: .*self.signed/) })
  expect(isTransient(error)).toBe(true)
})
