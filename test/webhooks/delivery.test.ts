import { eventually, expectError, invite, listen, make, nextPath, read, readFeed, register } from '../kit.ts'
import { upTo, withToken } from '../kit.ts'
import type { Body, Client } from '../kit.ts'
import { createServer, type Server } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { openReceiver, verified } from './receiver.ts'
import { type Hook, openWebhooks } from './scene.ts'

const openScene = await openWebhooks()
const from = (first: number, last: number) => upTo(last).slice(first - 1)

test('delivers every event once, in order, with the content of the feed and a signature', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver } = scene
  const { secret } = await scene.hook()
  await scene.createTasks(30)
  await eventually('all events', () => receiver.seqs().length >= 30)
  expect(receiver.seqs()).toEqual(from(3, 32))
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
  const { promise: first, resolve: answer } = Promise.withResolvers<void>()
  await using scene = await openScene(undefined, async (response) => {
    await first
    response.end()
  })
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

test('delivers only the requested types, and moves the cursor past all other events', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver } = scene
  const { id } = await scene.hook({ types: ['task.updated'] })
  const task = await make(ada, '/tasks', { title: 'T', projectId })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await scene.createTasks(3)
  await eventually('the end of the log', async () => (await scene.state(id)).cursor === 7)
  expect(receiver.seqs()).toEqual([4])
})

test('delivers no events of the account exceptActorId, until a change of the webhook', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver } = scene
  const bea = await register(scene.service.client)
  await invite(ada, projectId, bea, 'EDITOR')
  const hook = await scene.hook({ exceptActorId: 'me' })
  expect(hook).toMatchObject({ exceptActorId: ada.id })
  await scene.createTasks(3)
  await make(bea, '/tasks', { title: 'T', projectId })
  await scene.createTasks(2)
  const cursorIs = (seq: number) =>
    eventually('the cursor', async () => (await scene.state(hook.id)).cursor === seq)
  await cursorIs(9)
  expect(receiver.seqs()).toEqual([7])
  const change = (exceptActorId: string | null) => ada.patch(scene.path(hook.id), { exceptActorId })
  expect((await change(bea.id.toUpperCase())).body).toMatchObject({ exceptActorId: bea.id })
  await make(bea, '/tasks', { title: 'T', projectId })
  await cursorIs(11)
  expect((await change(null)).body).toMatchObject({ exceptActorId: null })
  await make(bea, '/tasks', { title: 'T', projectId })
  await cursorIs(13)
  expect(receiver.seqs()).toEqual([7, 10, 12, 13])
  const { body } = await ada.get(`/projects/${projectId}/events?types=webhook.updated`)
  expect(body.map(({ after }: Body & { after?: object }) => after)).toMatchObject([
    { changed: ['exceptActorId'] },
    { changed: ['exceptActorId'] },
  ])
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

test('retries a failed delivery with the same id and events, before later events', async () => {
  let isBroken = true
  await using scene = await openScene(undefined, (response) => response.writeHead(isBroken ? 503 : 204).end())
  const { receiver } = scene
  const { id, secret } = await scene.hook()
  const before = Date.now()
  await scene.createTasks(1)
  await eventually('a failed attempt', () => receiver.received.length === 1)
  await scene.createTasks(3)
  const state = () => scene.state(id)
  await eventually('the stored result', async () => (await state()).failures === 1)
  const { nextAttemptAt, cursor } = await state()
  expect(cursor).toBe(2)
  expect(Date.parse(nextAttemptAt!)).toBeWithin(before + 4_000, Date.now() + 5_500)
  await scene.hurry()
  await eventually('another delivery', () => receiver.received.length === 2)
  isBroken = false
  await eventually('the stored result', async () => (await state()).failures === 2)
  await scene.hurry()
  await eventually('all events', () => receiver.seqs().length >= 6)
  const seqs = receiver.received.map(({ body }) => body.data.events.map(({ seq }) => seq).join())
  expect(seqs).toEqual(['3', '3', '3', '4,5,6'])
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect([new Set(ids.slice(0, 3)).size, new Set(ids).size]).toEqual([1, 2])
  for (const one of receiver.received) expect(verified(secret, one)).toEqual(one.body)
  await eventually('the last stored result', async () => (await state()).cursor === 6)
  expect(await state()).toMatchObject({ failures: 0, nextAttemptAt: null })
})

test('treats a redirect as a failure, does not follow it, and waits for Retry-After', async () => {
  const inside = await openReceiver()
  await using scene = await openScene(undefined, (response) =>
    response.writeHead(302, { location: inside.url, 'retry-after': '120' }).end('elsewhere'),
  )
  const { id } = await scene.hook()
  const before = Date.now()
  await scene.createTasks(1)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  const next = Date.parse((await scene.state(id)).nextAttemptAt!)
  expect(next).toBeWithin(before + 119_000, Date.now() + 121_000)
  const error = expect.stringMatching(
    /^The receiver answered 302, and redirects are not followed: set the URL to http/,
  )
  const path = `/projects/${scene.projectId}/webhooks/${id}`
  expect((await scene.ada.get(`${path}/deliveries`)).body).toMatchObject([{ status: 302, error }])
  expect((await scene.ada.post(`${path}/test`)).body).toMatchObject({ status: 302, error })
  expect(inside.received).toEqual([])
  await inside.close()
})

test('410 disables the webhook with a reason; enabling it continues where delivery stopped', async () => {
  let status = 410
  await using scene = await openScene(undefined, (response) => response.writeHead(status).end())
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.createTasks(2)
  await eventually('the disabled webhook', async () => !(await scene.state(id)).enabled)
  const disabledReason = 'The receiver answered 410 Gone'
  expect(await scene.state(id)).toMatchObject({ disabledReason, failures: 1 })
  const feed = await readFeed(ada, `/projects/${scene.projectId}/events?after=4`)
  const after = { enabled: false, changed: ['enabled'] }
  expect(feed).toMatchObject([{ entityId: id, actor: { name: null }, after }] as never)
  const before = receiver.seqs().length
  await scene.createTasks(3)
  status = 200
  expect(receiver.seqs().length).toBe(before)
  const { body } = await ada.patch(scene.path(id), { enabled: true })
  expect(body).toMatchObject({ enabled: true, disabledReason: null, failures: 0 })
  await eventually('the remaining events', () => receiver.seqs().at(-1) === 9)
  expect(receiver.seqs().slice(before)).toEqual(from(3, 9))
})

test('five days of failures disable the webhook with a reason', async () => {
  await using scene = await openScene(undefined, (response) => response.writeHead(500).end())
  const { id } = await scene.hook()
  await scene.createTasks(1)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  const wait = (days: number) => scene.sql`
    update webhooks set failing_since = failing_since - ${days}::int4 * interval '1 day', next_at = now()`
  await wait(4)
  await eventually('the second failed attempt', async () => (await scene.state(id)).failures === 2)
  expect((await scene.state(id)).enabled).toBe(true)
  await wait(1)
  await eventually('the disabled webhook', async () => !(await scene.state(id)).enabled)
  const disabledReason = 'All attempts of 5 days failed'
  expect(await scene.state(id)).toMatchObject({ disabledReason, failures: 3 })
})

test('disables the webhook with a reason when undelivered events have expired', async () => {
  await using scene = await openScene({ HISTORY_DAYS: '30' })
  const { ada, receiver } = scene
  const { id } = await scene.hook({ enabled: false })
  await scene.createTasks(9)
  await scene.sql`delete from events where seq <= 5`
  await ada.patch(scene.path(id), { enabled: true })
  await eventually('the disabled webhook', async () => !(await scene.state(id)).enabled)
  const disabledReason = 'Events before 6 are no longer kept: replay from a later event'
  expect(await scene.state(id)).toMatchObject({ disabledReason, cursor: 2 })
  expect(receiver.received).toEqual([])
  expect((await ada.post(`${scene.path(id)}/replay`, { after: 1 })).status).toBe(410)
  expect((await ada.post(`${scene.path(id)}/replay`, { after: 5 })).status).toBe(200)
  await ada.patch(scene.path(id), { enabled: true })
  await eventually('the remaining events', () => receiver.seqs().length === 10)
  expect(receiver.seqs()).toEqual(from(6, 15))
})

test('deleting the project stops deliveries, and deletes the webhook and the list of its deliveries', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver } = scene
  await scene.hook()
  await scene.createTasks(2)
  await eventually('both events', () => receiver.seqs().length === 2)
  await ada.delete(`/projects/${projectId}`)
  await eventually('no webhook and no delivery', async () => {
    const [rows] = await scene.sql<{ n: number }[]>`
      select (select count(*) from webhooks)::int4 + (select count(*) from webhook_deliveries)::int4 as n`
    return rows!.n === 0
  })
  expect(receiver.seqs()).toEqual([3, 4])
})

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
