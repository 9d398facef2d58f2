import { expect, spyOn, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'

test('a feed and a worker wait for the time in Retry-After, even beyond the deadline of a call', async () => {
  const wait = spyOn(globalThis, 'setTimeout')
  let sent = 0
  const busy = async () => {
    sent++
    return new Response(null, { status: 429, headers: { 'retry-after': '3600' } })
  }
  const project = new Docket({ url: 'http://docket.test', fetch: busy }).project('p')
  const stop = new AbortController()
  const options = { signal: stop.signal }
  const running = [
    project.follow({ ...options, after: 3, transport: 'poll' }).next(),
    project.mirror(options).ready,
    project.work(() => {}, options),
  ]
  const waiting = () => wait.mock.calls.filter(([, ms]) => ms === 3_600_000).length
  while (waiting() < 3) await new Promise<void>((resolve) => setImmediate(resolve))
  stop.abort()
  await Promise.all(running)
  expect(sent).toBe(3)
  wait.mockRestore()
})

test('claimNext without a wait has the deadline of the client', async () => {
  const docket = new Docket({ url: 'http://docket.test', deadlineMs: 20, fetch: () => new Promise(() => {}) })
  await expect(docket.project('p').claimNext()).rejects.toThrow(' within 20 ms')
})
