import { eventually, expectError, invite, listen, nextPath, read, register, upTo, withToken } from '../kit.ts'
import type { Client } from '../kit.ts'
import { verified } from './receiver.ts'
import { type Hook, openWebhooks } from './scene.ts'
import { createServer, type Server } from 'node:http'
import { Webhook } from 'standardwebhooks'

const openScene = await openWebhooks()

test('for a day after a rotation, deliveries are signed with both secrets, the new secret first', async () => {
  await using scene = await openScene()
  const { ada, receiver } = scene
  const { id, secret: old } = await scene.hook({ types: ['task.created'] })
  const rotated = await ada.post(`${scene.path(id)}/rotate`)
  const { secret } = rotated.body as Hook
  expect([rotated.status, secret === old]).toEqual([200, false])
  await scene.createTasks(1)
  await eventually('a delivery', () => receiver.received.length === 1)
  const [both] = receiver.received
  expect(String(both!.headers['webhook-signature']).split(' ')).toHaveLength(2)
  for (const one of [secret, old]) expect(verified(one, both!)).toEqual(both!.body)
  await scene.sql`update webhooks set former_until = former_until - interval '24 hours'`
  await scene.createTasks(1)
  await eventually('another delivery', () => receiver.received.length === 2)
  expect(verified(secret, receiver.received[1]!)).toEqual(receiver.received[1]!.body)
  expect(() => verified(old, receiver.received[1]!)).toThrow()
})

test('sends a test immediately, even to a disabled webhook, and returns the result', async () => {
  await using scene = await openScene(undefined, (response) => response.writeHead(418).end('short and stout'))
  const { ada, projectId, receiver } = scene
  const { id, secret } = await scene.hook({ enabled: false })
  const { status, body } = await ada.post(`${scene.path(id)}/test`)
  expect(status).toBe(200)
  const answered = { status: 418, error: null, answer: 'short and stout' }
  expect(body).toMatchObject({ webhookId: id, type: 'test', ...answered, events: 0 } as never)
  const [sent] = receiver.received
  expect(verified(secret, sent!)).toEqual(sent!.body)
  expect(sent!.body).toMatchObject({ type: 'test', data: { projectId, webhookId: id, events: [] } })
  expect((await ada.get(`${scene.path(id)}/deliveries`)).body).toEqual([body] as never)
  await receiver.close()
  const unreachable = await ada.post(`${scene.path(id)}/test`)
  expect(unreachable.body).toMatchObject({ status: null, error: 'No connection: ECONNREFUSED' } as never)
})

test('each account may run four tests at the same time, counted across all its tokens', async () => {
  const answers: (() => void)[] = []
  await using scene = await openScene(undefined, (response) => void answers.push(() => response.end('ok')))
  const { ada, service, projectId } = scene
  const { id } = await scene.hook({ enabled: false })
  const program = await withToken(ada)
  const test = (who: Client) => who.post(`${scene.path(id)}/test`)
  const tests = [ada, program, ada, program].map(test)
  await eventually('four running tests', () => answers.length === 4)
  for (const who of [ada, program]) {
    const rejected = await test(who)
    expectError(rejected, 429, 'Too many tests of webhooks of this account are in progress')
    expect(rejected.headers.get('retry-after')).toBe('1')
  }
  const grace = await register(service.client)
  await invite(ada, projectId, grace, 'ADMIN')
  tests.push(test(grace))
  await eventually('a fifth test', () => answers.length === 5)
  for (const answer of answers) answer()
  expect((await Promise.all(tests)).map(({ status }) => status)).toEqual(Array(5).fill(200))
  answers.length = 0
  const again = test(ada)
  await eventually('a later test', () => answers.length === 1)
  answers[0]!()
  expect((await again).status).toBe(200)
})

test('a replay moves the cursor back to repeat events, or forward to skip events', async () => {
  await using scene = await openScene()
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.createTasks(4)
  await eventually('all events', () => receiver.seqs().length === 4)
  const again = await ada.post(`${scene.path(id)}/replay`, { after: 0 })
  expect([again.status, again.body]).toMatchObject([200, { cursor: 0 }])
  await eventually('the replayed events', () => receiver.seqs().length === 11)
  expect(receiver.seqs().slice(4)).toEqual([1, 2, 3, 4, 5, 6, 7])
  await ada.patch(scene.path(id), { enabled: false })
  await scene.createTasks(3)
  await ada.post(`${scene.path(id)}/replay`, { after: 10 })
  await ada.patch(scene.path(id), { enabled: true })
  await eventually('the last event', () => receiver.seqs().at(-1) === 13)
  expect(receiver.seqs().slice(11)).toEqual([11, 12, 13])
  expectError(await ada.post(`${scene.path(id)}/replay`, { after: 14 }), 400, /ahead of the project/)
  for (const wrong of [{}, { after: -1 }, { after: '0' }, { after: 1.5 }])
    expectError(await ada.post(`${scene.path(id)}/replay`, wrong), 400)
})

test('a change during a delivery stays in effect, whatever the result of the delivery', async () => {
  const answers: (() => void)[] = []
  await using scene = await openScene(undefined, (response) => void answers.push(() => response.end()))
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.createTasks(3)
  await eventually('a delivery', () => receiver.received.length === 1)
  await ada.post(`${scene.path(id)}/replay`, { after: 0 })
  answers.shift()!()
  await eventually('another delivery', () => receiver.received.length === 2)
  const seqsOf = (n: number) => receiver.received[n]!.body.data.events.map(({ seq }) => seq)
  expect(seqsOf(1)).toEqual([1, 2, 3, 4, 5, 6])
  await ada.patch(scene.path(id), { types: ['project.created'] })
  answers.shift()!()
  await eventually('a third delivery', () => receiver.received.length === 3)
  expect(seqsOf(2)).toEqual([1])
  answers.shift()!()
  await eventually('the end of the log', async () => (await scene.state(id)).cursor === 7)
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(3)
  await ada.patch(scene.path(id), { types: null })
  await scene.createTasks(1)
  await eventually('a fourth delivery', () => receiver.received.length === 4)
  await ada.delete(scene.path(id))
  answers.shift()!()
  await scene.createTasks(1)
  expectError(await ada.get(scene.path(id)), 404)
  expect(receiver.received).toHaveLength(4)
})

test('lists every attempt, newest first, in pages', async () => {
  let isBroken = true
  await using scene = await openScene(undefined, (response) =>
    response.writeHead(isBroken ? 500 : 200).end('x'.repeat(3_000)),
  )
  const { ada } = scene
  const { id } = await scene.hook()
  await scene.createTasks(1)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  isBroken = false
  await scene.hurry()
  await eventually('a successful delivery', async () => (await scene.state(id)).cursor === 3)
  const path = `${scene.path(id)}/deliveries`
  const { body } = await ada.get(path)
  const seqs = { firstSeq: 3, lastSeq: 3, events: 1 }
  const common = { webhookId: id, type: 'events', ...seqs, error: null, answer: 'x'.repeat(1_024) }
  expect(body).toMatchObject([
    { ...common, status: 200, attempt: 2 },
    { ...common, status: 500, attempt: 1 },
  ] as never)
  const [first, second] = body as unknown as { id: string; deliveryId: string }[]
  expect(first!.deliveryId).toBe(second!.deliveryId)
  const page = await ada.get(`${path}?limit=1`)
  expect(page.body).toEqual([first] as never)
  expect((await ada.get(nextPath(page.headers)!)).body).toEqual([second] as never)
  const ifNoneMatch = { 'if-none-match': (await ada.get(path)).headers.get('etag')! }
  expect((await ada.get(path, ifNoneMatch)).status).toBe(304)
})

type Receive = (secret: string, take: (event: { seq: number }) => unknown) => Server

function shown(): Receive {
  const [, code] = /^export (const receiver = [^]*?\n {2}\}\)\n)/m.exec(read('docs/webhooks.md').text) ?? []
  return new Function('createServer', 'Webhook', `${code}; return receiver`)(createServer, Webhook)
}

test('the receiver in docs/webhooks.md accepts every event, including retries, and rejects unsigned requests', async () => {
  await using scene = await openScene()
  const { ada } = scene
  const { id, secret } = await scene.hook({ enabled: false })
  const taken: number[] = []
  let isBroken = true
  const server = shown()(secret, ({ seq }) => {
    if (isBroken) throw new Error('The disk is full')
    taken.push(seq)
  })
  const { url, close } = await listen(server)
  expect((await fetch(url, { method: 'POST', body: '{"type":"events","data":{"events":[]}}' })).status).toBe(
    400,
  )
  await ada.patch(scene.path(id), { url, enabled: true })
  expect((await ada.post(`${scene.path(id)}/test`)).body.status).toBe(204 as never)
  await scene.createTasks(3)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  isBroken = false
  await scene.hurry()
  await eventually('all events', () => taken.length >= 4)
  expect(taken).toEqual(upTo(6).slice(2))
  await close()
})
