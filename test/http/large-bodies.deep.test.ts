import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { chunk, expectError, expectRawError, forFile, requestHead, sendRaw, statuses } from '../kit.ts'
import { peakMib } from '../support/peak-memory.ts'
import { openRawClient } from './raw-client.ts'

const { web, ada, withToken, send } = await forFile(openRawClient({ BODY_TIMEOUT_MS: '120000' }))

const mebi = 1_048_576
const json = { 'Content-Type': 'application/json' }
const chunked = { ...json, 'Transfer-Encoding': 'chunked' }

test('a client that sends a body above the limit gets 413, and the connection serves the next request', async () => {
  for (const mib of [2, 30]) {
    const large = 'x'.repeat(mib * mebi)
    const next = requestHead('GET', '/api/v1/auth/me', withToken)
    for (const [lengthHeader, body] of [
      [{ 'Content-Length': large.length }, large],
      [{ 'Transfer-Encoding': 'chunked' }, chunk(large) + chunk('')],
    ] as const) {
      const headers = { ...withToken, ...json, ...lengthHeader, Connection: 'keep-alive' }
      const answer = await sendRaw(web.url, requestHead('POST', '/api/v1/projects', headers), body, next)
      expectRawError(answer, 413)
      expect(answer.body).toContain('HTTP/1.1 200 OK')
    }
    expectError(await ada.post('/projects', large), 413, 'The body must be at most 1048576 bytes')
    const stream = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < mib; sent++) controller.enqueue(new Uint8Array(mebi))
        controller.close()
      },
    })
    const init = { method: 'POST', headers: { ...withToken, ...json }, body: stream }
    expect((await fetch(`${web.url}/api/v1/projects`, init)).status).toBe(413)
    expect(await posted(large)).toEqual([413, 'Payload Too Large'])
  }
  expect((await ada.get('/projects')).body).toHaveLength(1)
})

async function posted(body: string): Promise<unknown[]> {
  const sent = request(`${web.url}/api/v1/projects`, { method: 'POST', headers: { ...withToken, ...json } })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const text = Buffer.concat(await answer.toArray()).toString()
  return [answer.statusCode, JSON.parse(text).error]
}

test('the service stops reading an endless body, and does not store large bodies in memory', async () => {
  const endless = Array.from({ length: 48 }, () => chunk('x'.repeat(mebi)))
  for (const { status } of await Promise.all([
    send('POST', '/api/v1/projects', chunked, ...endless),
    send('POST', '/api/v1/projects', { ...json, 'Content-Length': 48 * mebi }, ...endless),
  ]))
    expect([0, 413]).toContain(status)
  const before = peakMib(web.pid)
  const large = 'x'.repeat(30 * mebi)
  const answers = await Promise.all(Array.from({ length: 8 }, () => ada.post('/projects', large)))
  expect(statuses(answers)).toEqual({ 413: 8 })
  expect(peakMib(web.pid) - before).toBeLessThan(64)
})

test('a body of many one-byte chunks needs a limited amount of memory', async () => {
  const before = peakMib(web.pid)
  const chunks = chunk('x').repeat(mebi)
  const sent = Array.from({ length: 4 }, () => send('POST', '/api/v1/projects', chunked, chunks, chunk('')))
  for (const answer of await Promise.all(sent)) expectRawError(answer, 400)
  // Measured: 120 MiB. A service that stores the chunks of the four bodies would need 330 MiB.
  expect(peakMib(web.pid) - before).toBeLessThan(220)
})
