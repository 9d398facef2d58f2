import { afterAll, beforeEach, expect, spyOn, test } from 'bun:test'
import { Rejections } from '../../src/admission/rejections.ts'

const now = spyOn(performance, 'now')
afterAll(() => now.mockRestore())
beforeEach(() => void now.mockReturnValue(0))

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

function openRejections(isShared = true) {
  const rejections = new Rejections({ isShared: () => isShared })
  const reject = (account?: string, headers = {}) =>
    rejections.delay(
      new Request('http://localhost', { headers }),
      new Response(null, { status: 404 }),
      account,
    )
  const prompt = (count: number, account?: string) =>
    numbers(count).filter(() => reject(account) instanceof Response).length
  return { reject, prompt }
}

test('in each time window, delays no rejection of the first 20 of each account, and of the first 20 without an account', () => {
  const { prompt } = openRejections()
  for (const at of [0, 21]) {
    now.mockReturnValue(at)
    expect([prompt(30, 'ada'), prompt(30, 'ada'), prompt(5, 'bob'), prompt(30)]).toEqual([20, 0, 5, 20])
  }
})

test('a delay does not change the response', async () => {
  const { prompt, reject } = openRejections()
  prompt(20, 'ada')
  expect((await reject('ada')).status).toBe(404)
})

test('a rejection of a large body counts as several rejections', () => {
  const { prompt, reject } = openRejections()
  expect(reject('ada', { 'content-length': '1000000' })).toBeInstanceOf(Response)
  expect([prompt(5, 'ada'), prompt(5, 'bob')]).toEqual([0, 5])
})

test('does not delay rejections while no other account is active', () => {
  const { prompt } = openRejections(false)
  expect([prompt(100, 'ada'), prompt(100)]).toEqual([100, 20])
})
