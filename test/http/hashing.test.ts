import { expect, test } from 'bun:test'
import { upTo } from '../races/pair.ts'
import type { Answer } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const { service, client, ada } = await openScene(['Ada'], { TRUST_PROXY: 'on' })

const login = (email: string, password: string, address: string) =>
  client.post('/auth/login', { email, password }, { 'x-forwarded-for': address })

/** Sends all, and counts how many of them are answered before `last`, which is sent after them. */
async function aheadOf(others: Promise<Answer>[], last: () => Promise<Answer>) {
  let ahead = 0
  for (const one of others) void one.then(() => ahead++)
  const answer = await last()
  return { answer, ahead, all: await Promise.all(others) }
}

test('logins of invented addresses do not keep a login at another address waiting', async () => {
  const flood = upTo(99).map((n) => login(`invented-${n}@example.com`, 'guess', '10.0.0.1'))
  const { answer, ahead, all } = await aheadOf(flood, () => login(ada.email, 'secret-1', '10.0.0.2'))
  expect(answer.status).toBe(200)
  expect(ahead).toBeLessThan(50)
  expect(all.every(({ status }) => status === 401)).toBeTrue()
})

test('more of one address than may wait are told when to come again, and others are let in', async () => {
  const flood = upTo(300).map((n) => login(`many-${n}@example.com`, 'guess', '10.0.1.1'))
  const { answer, all } = await aheadOf(flood, () => login(ada.email, 'secret-1', '10.0.1.2'))
  expect(answer.status).toBe(200)
  const rejected = all.filter(({ status }) => status === 429)
  expect(all.every(({ status }) => status === 401 || status === 429)).toBeTrue()
  for (const { headers, body } of rejected) {
    expect(headers.get('retry-after')).toBe('1')
    expect(body.message).toBe('Too many sign-ins from this address wait; try again in 1 second')
  }
})

test('an address may sign in less often by default than one core hashes passwords', () => {
  expect(service.services.config.signInsPerMinute).toBe(2_400)
})
