import { type Body, eventually, invite, make, readFeed, register, upTo } from '../kit.ts'
import { openReceiver, verified } from './receiver.ts'
import { openWebhooks } from './scene.ts'

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
