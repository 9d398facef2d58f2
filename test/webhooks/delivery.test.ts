import { type Body, type Client, eventually, expectError, invite, listen, make, nextPath } from '../kit.ts'
import { read, readFeed, register, upTo, withToken } from '../kit.ts'
import { createServer, type Server } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { openReceiver, verified } from './receiver.ts'
import { held, type Hook, openWebhooks } from './scene.ts'

const openScene = await openWebhooks()
/** The retries of a test begin when the test calls `hurry`. */
const later = { 'retry-after': '3600' }
const from = (first: number, last: number) => upTo(last).slice(first - 1)

test('delivers every event once, in order, with the content of the feed and a signature', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver } = scene
  const { secret } = await scene.hook()
  await scene.createTasks(30)
  await eventually('all events', () => receiver.seqs().length >= 30)
  const feed = await readFeed(ada, `/projects/${projectId}/events?after=2`)
  expect(receiver.received.flatMap(({ body }) => body.data.events)).toEqual(feed as never)
  for (const one of receiver.received) {
    expect(verified(secret, one)).toEqual(one.body)
    const last = one.body.data.events.at(-1) as unknown as { at: string }
    expect(one.body).toMatchObject({ type: 'events', timestamp: last.at, data: { projectId } })
    expect(one.headers['content-type']).toBe('application/json')
  }
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(ids.length)
})

test('events that are committed during a slow delivery are sent together afterwards, at most maxEvents at a time', async () => {
  const { respond, answer } = held()
  await using scene = await openScene(undefined, respond)
  const { receiver } = scene
  await scene.hook({ maxEvents: 4 })
  await scene.createTasks(1)
  await eventually('the first delivery', () => receiver.received.length === 1)
  await scene.createTasks(10)
  answer()
  await eventually('the other events', () => receiver.seqs().length >= 11)
  expect(receiver.received.map(({ body }) => body.data.events.length)).toEqual([1, 4, 4, 2])
  expect(receiver.seqs()).toEqual(from(3, 13))
})

test('delivers only the requested types, and no events of the account exceptActorId, until a change of the webhook', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver } = scene
  const bea = await register(scene.service.client)
  await invite(ada, projectId, bea, 'EDITOR')
  const { id: ofType } = await scene.hook({ types: ['task.updated'] }, '/types')
  const { id, exceptActorId } = (await scene.hook({ exceptActorId: 'me' })) as Hook & {
    exceptActorId: string
  }
  expect(exceptActorId).toBe(ada.id)
  const create = (who: Client) => make(who, '/tasks', { title: 'T', projectId })
  const task = await create(bea)
  await bea.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await create(ada)
  await scene.until(id, 'cursor', 7)
  await scene.until(ofType, 'cursor', 7)
  expect([receiver.seqs(), receiver.seqs('/types')]).toEqual([[5, 6], [6]])
  const shown = await scene.change(id, { exceptActorId: bea.id.toUpperCase() })
  expect(shown).toMatchObject({ exceptActorId: bea.id })
  await create(bea)
  await scene.until(id, 'cursor', 9)
  await scene.change(id, { exceptActorId: null })
  await create(bea)
  await scene.until(id, 'cursor', 11)
  expect(receiver.seqs()).toEqual([5, 6, 8, 10, 11])
  const { body } = await ada.get(`/projects/${projectId}/events?types=webhook.updated`)
  const changed = { changed: ['exceptActorId'] }
  expect(body.map(({ after }: Body & { after?: object }) => after)).toMatchObject([changed, changed])
})

test('receivers that never answer do not delay other receivers', async () => {
  let over = 0
  const silent = await openReceiver((response) => response.once('close', () => over++))
  await using scene = await openScene({ WEBHOOK_CONCURRENCY: '3', PROJECT_WEBHOOKS: '100' })
  const { receiver } = scene
  for (let n = 0; n < 12; n++) await scene.hook({ url: silent.url })
  await scene.createTasks(1)
  await eventually('pending deliveries', () => silent.received.length >= 3)
  await scene.hook()
  await scene.createTasks(5)
  await eventually('the other events', () => receiver.seqs().length >= 5)
  expect(over).toBe(0)
  expect(receiver.seqs()).toEqual(from(16, 20))
  await silent.close()
})

/** An answer of a receiver, then the wait before the next try in seconds, or the reason why the webhook is disabled. */
const answers: [status: number, wait: number | null, reason: string | null][] = [
  [204, null, null],
  [302, 120, null],
  [404, 60, null],
  [410, null, 'The receiver answered 410 Gone'],
  [503, 3_600, null],
]

test('an answer besides 2xx is a failure, which waits for Retry-After, and 410 disables the webhook', async () => {
  await using scene = await openScene(undefined, (response, { path }) => {
    const [status, wait] = answers[Number(path.slice(1))]!
    if (wait) response.setHeader('retry-after', wait)
    response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end('x'.repeat(3_000))
  })
  const ids: string[] = []
  for (const n of answers.keys()) ids.push((await scene.hook({ types: ['task.created'] }, `/${n}`)).id)
  const before = Date.now()
  await scene.createTasks(1)
  for (const [n, [status, wait, reason]] of answers.entries()) {
    const id = ids[n]!
    await eventually('the stored result', async () => (await scene.attempts(id)).length === 1)
    if (reason) await scene.until(id, 'enabled', false)
    const error =
      status === 302 ? expect.stringContaining('redirects are not followed: set the URL to http') : null
    expect(await scene.attempts(id)).toMatchObject([{ status, error }] as never)
    if (status > 204) expect(await scene.attempts(id)).toMatchObject([{ answer: 'x'.repeat(1_024) }] as never)
    const { nextAttemptAt, failures, disabledReason } = await scene.state(id)
    expect([failures, disabledReason]).toEqual([status === 204 ? 0 : 1, reason])
    if (wait) expect(Date.parse(nextAttemptAt!)).toBeWithin(before + wait * 950, Date.now() + wait * 1_100)
    else if (!reason) expect(nextAttemptAt).toBeNull()
  }
  // The searches that find a webhook whose wait is over leave the other webhooks.
  for (const failures of [2, 3]) {
    await scene.sql`update webhooks set next_at = now() where id = ${ids.at(-1)!}`
    await scene.until(ids.at(-1)!, 'failures', failures)
  }
  expect(await scene.attempts(ids[1]!)).toHaveLength(1)
})

test('retries a failed delivery with the same id and events, before later events, and lists every attempt', async () => {
  let isBroken = true
  await using scene = await openScene(undefined, (response) =>
    response.writeHead(isBroken ? 503 : 200, later).end(),
  )
  const { ada, receiver } = scene
  const { id, secret } = await scene.hook()
  await scene.createTasks(1)
  await scene.until(id, 'failures', 1)
  await scene.createTasks(3)
  expect(receiver.received).toHaveLength(1)
  await scene.hurry()
  await scene.until(id, 'failures', 2)
  expect((await scene.state(id)).cursor).toBe(2)
  isBroken = false
  await scene.hurry()
  await scene.until(id, 'cursor', 6)
  expect(await scene.state(id)).toMatchObject({ failures: 0, nextAttemptAt: null })
  const seqs = receiver.received.map(({ body }) => body.data.events.map(({ seq }) => seq).join())
  expect(seqs).toEqual(['3', '3', '3', '4,5,6'])
  const sent = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect([new Set(sent.slice(0, 3)).size, new Set(sent).size]).toEqual([1, 2])
  for (const one of receiver.received) expect(verified(secret, one)).toEqual(one.body)
  const all = await scene.attempts(id)
  const first = { webhookId: id, type: 'events', firstSeq: 3, lastSeq: 3, events: 1, deliveryId: sent[0] }
  expect(all).toMatchObject([
    { status: 200, attempt: 1, firstSeq: 4, lastSeq: 6, events: 3, deliveryId: sent[3] },
    { ...first, status: 200, attempt: 3 },
    { ...first, status: 503, attempt: 2 },
    { ...first, status: 503, attempt: 1 },
  ] as never)
  const path = `${scene.path(id)}/deliveries`
  const page = await ada.get(`${path}?limit=3`)
  expect([...page.body, ...(await ada.get(nextPath(page.headers)!)).body]).toEqual([...all])
  const ifNoneMatch = { 'if-none-match': (await ada.get(path)).headers.get('etag')! }
  expect((await ada.get(path, ifNoneMatch)).status).toBe(304)
})

test('410 or five days of failures disable a webhook; enabling it continues where delivery stopped', async () => {
  let status = 500
  await using scene = await openScene(undefined, (response) => response.writeHead(status, later).end())
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.createTasks(2)
  await scene.until(id, 'failures', 1)
  await scene.hurry(4)
  await scene.until(id, 'failures', 2)
  expect((await scene.state(id)).enabled).toBe(true)
  await scene.hurry(1)
  await scene.until(id, 'enabled', false)
  const disabledReason = 'All attempts of 5 days failed'
  expect(await scene.state(id)).toMatchObject({ disabledReason, failures: 3 })
  status = 410
  await scene.change(id, { enabled: true })
  await scene.until(id, 'enabled', false)
  const feed = await readFeed(ada, `/projects/${scene.projectId}/events?after=6`)
  const after = { enabled: false, changed: ['enabled'] }
  expect(feed).toMatchObject([{ entityId: id, actor: { name: null }, after }] as never)
  const before = receiver.received.length
  status = 200
  await scene.createTasks(3)
  expect(receiver.received).toHaveLength(before)
  const enabled = await scene.change(id, { enabled: true })
  expect(enabled).toMatchObject({ enabled: true, disabledReason: null, failures: 0 })
  await scene.until(id, 'cursor', 11)
  expect(
    receiver.received.slice(before).flatMap(({ body }) => body.data.events.map(({ seq }) => seq)),
  ).toEqual(from(3, 11))
})

test('disables the webhook with a reason when undelivered events have expired', async () => {
  await using scene = await openScene({ HISTORY_DAYS: '30' })
  const { ada, receiver } = scene
  const { id } = await scene.hook({ enabled: false })
  await scene.createTasks(9)
  await scene.sql`delete from events where seq <= 5`
  await scene.change(id, { enabled: true })
  await scene.until(id, 'enabled', false)
  const disabledReason = 'Events before 6 are no longer kept: replay from a later event'
  expect(await scene.state(id)).toMatchObject({ disabledReason, cursor: 2 })
  expect(receiver.received).toEqual([])
  expect((await ada.post(`${scene.path(id)}/replay`, { after: 1 })).status).toBe(410)
  expect((await ada.post(`${scene.path(id)}/replay`, { after: 5 })).status).toBe(200)
  await scene.change(id, { enabled: true })
  await eventually('the remaining events', () => receiver.seqs().length === 10)
  expect(receiver.seqs()).toEqual(from(6, 15))
})

test('for a day after a rotation, deliveries are signed with both secrets, the new secret first', async () => {
  await using scene = await openScene()
  const { receiver } = scene
  const { id, secret: old } = await scene.hook({ types: ['task.created'] })
  const { secret } = (await scene.ada.post(`${scene.path(id)}/rotate`)).body as Hook
  for (const secrets of [[secret, old], [secret]]) {
    await scene.createTasks(1)
    await eventually('a delivery', () => receiver.received.length === 1)
    const one = receiver.received.pop()!
    expect(String(one.headers['webhook-signature']).split(' ')).toHaveLength(secrets.length)
    for (const valid of secrets) expect(verified(valid, one)).toEqual(one.body)
    await scene.sql`update webhooks set former_until = former_until - interval '24 hours'`
  }
})

test('sends a test immediately, even to a disabled webhook, and returns the result', async () => {
  await using scene = await openScene(undefined, (response) => response.writeHead(418).end('short and stout'))
  const { ada, projectId, receiver } = scene
  const { id, secret } = await scene.hook({ enabled: false })
  const { status, body } = await ada.post(`${scene.path(id)}/test`)
  const result = {
    webhookId: id,
    type: 'test',
    status: 418,
    error: null,
    answer: 'short and stout',
    events: 0,
  }
  expect([status, body]).toMatchObject([200, result])
  const [sent] = receiver.received
  expect(verified(secret, sent!)).toEqual(sent!.body)
  expect(sent!.body).toMatchObject({ type: 'test', data: { projectId, webhookId: id, events: [] } })
  expect(await scene.attempts(id)).toEqual([body] as never)
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
  for (const answer of answers.splice(0)) answer()
  expect((await Promise.all(tests)).map(({ status }) => status)).toEqual(Array(5).fill(200))
  const again = test(ada)
  await eventually('a later test', () => answers.length === 1)
  answers[0]!()
  expect((await again).status).toBe(200)
})

test('a replay moves the cursor back to repeat events, or forward to skip events', async () => {
  await using scene = await openScene()
  const { receiver } = scene
  const { id } = await scene.hook()
  const replay = (after?: unknown) => scene.ada.post(`${scene.path(id)}/replay`, { after })
  await scene.createTasks(4)
  await eventually('all events', () => receiver.seqs().length === 4)
  expect(await replay(0)).toMatchObject({ status: 200, body: { cursor: 0 } })
  await eventually('the replayed events', () => receiver.seqs().length === 11)
  expect(receiver.seqs().slice(4)).toEqual([1, 2, 3, 4, 5, 6, 7])
  await scene.change(id, { enabled: false })
  await scene.createTasks(3)
  await replay(10)
  await scene.change(id, { enabled: true })
  await eventually('the last event', () => receiver.seqs().at(-1) === 13)
  expect(receiver.seqs().slice(11)).toEqual([11, 12, 13])
  expectError(await replay(14), 400, /ahead of the project/)
  for (const wrong of [undefined, -1, '0', 1.5]) expectError(await replay(wrong), 400)
})

test('deleting the project stops deliveries', async () => {
  await using scene = await openScene()
  const { receiver } = scene
  await scene.hook()
  await scene.createTasks(2)
  await eventually('both events', () => receiver.seqs().length === 2)
  await scene.ada.delete(`/projects/${scene.projectId}`)
  await eventually('the purge', async () => (await scene.sql`select from webhooks`).length === 0)
  expect(receiver.seqs()).toEqual([3, 4])
})

type Receive = (secret: string, take: (event: { seq: number }) => unknown) => Server

test('the receiver in docs/webhooks.md accepts every event, including retries, and rejects unsigned requests', async () => {
  await using scene = await openScene()
  const { id, secret } = await scene.hook({ enabled: false })
  const [, code] = /^export (const receiver = [^]*?\n {2}\}\)\n)/m.exec(read('docs/webhooks.md').text) ?? []
  const receive = new Function('createServer', 'Webhook', `${code}; return receiver`)(
    createServer,
    Webhook,
  ) as Receive
  const taken: number[] = []
  let isBroken = true
  const server = receive(secret, ({ seq }) => {
    if (isBroken) throw new Error('The disk is full')
    taken.push(seq)
  })
  const { url, close } = await listen(server)
  const unsigned = await fetch(url, { method: 'POST', body: '{"type":"events","data":{"events":[]}}' })
  expect(unsigned.status).toBe(400)
  await scene.change(id, { url, enabled: true })
  expect((await scene.ada.post(`${scene.path(id)}/test`)).body.status).toBe(204 as never)
  await scene.createTasks(3)
  await scene.until(id, 'failures', 1)
  isBroken = false
  await scene.hurry()
  await eventually('all events', () => taken.length >= 4)
  expect(taken).toEqual(from(3, 6))
  await close()
})
