import { eventually, untilBlocked } from '../kit.ts'
import { openReceiver, verified } from './receiver.ts'
import { type Hook, openWebhooks, type Scene } from './scene.ts'

const openScene = await openWebhooks()

let scene: Scene
afterEach(() => scene.close())

/** Delays the first response until `answer` is called. Responds to later requests immediately with 200. */
function held(status: number) {
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  let isFirst = true
  const respond: Parameters<typeof openReceiver>[0] = async (response) => {
    if (!isFirst) return response.end()
    isFirst = false
    await promise
    return response.writeHead(status, { 'retry-after': '3600' }).end()
  }
  return { respond, answer }
}

async function heldAt(status: number) {
  const { respond, answer } = held(status)
  scene = await openScene(undefined, respond)
  const { id } = await scene.hook({ types: ['task.created'] })
  await scene.createTasks(1)
  await eventually('a delivery', () => scene.receiver.received.length === 1)
  return { id, answer }
}

const attempts = async (id: string) => (await scene.ada.get(`${scene.path(id)}/deliveries`)).body.length
const expectUnharmed = async (id: string) =>
  expect(await scene.state(id)).toMatchObject({ enabled: true, failures: 0, nextAttemptAt: null })
const untilWaiting = (words: string) => untilBlocked(scene.service.services.database.reads, 1, `%${words}%`)

for (const status of [410, 503])
  test(`a ${status} from the previous URL does not count against a URL set during the delivery`, async () => {
    const { id, answer } = await heldAt(status)
    const next = await openReceiver()
    expect((await scene.ada.patch(scene.path(id), { url: next.url })).status).toBe(200)
    answer()
    await eventually('the stored result', async () => (await attempts(id)) > 0)
    await expectUnharmed(id)
    await eventually('a delivery to the new URL', () => next.received.length === 1)
    const [before, after] = [scene.receiver.received[0]!, next.received[0]!]
    expect(after.headers['webhook-id']).toBe(before.headers['webhook-id'])
    await next.close()
  })

test('a 410 from the previous URL does not disable the webhook, even if the new URL is committed just before the 410 is stored', async () => {
  const { id, answer } = await heldAt(410)
  const next = await openReceiver()
  const changing = await scene.sql.begin(async (sql) => {
    await sql`select from webhooks where id = ${id} for update`
    const patched = scene.ada.patch(scene.path(id), { url: next.url })
    await untilWaiting('update streams')
    answer()
    await untilWaiting('jsonb_to_recordset')
    return { patched }
  })
  expect((await changing.patched).status).toBe(200)
  await eventually('the stored result', async () => (await attempts(id)) > 0)
  await expectUnharmed(id)
  await eventually('a delivery to the new URL', () => next.received.length === 1)
  await next.close()
})

test('rotating the secret during a failing delivery repeats the delivery immediately, signed with the new secret', async () => {
  const { id, answer } = await heldAt(503)
  const { ada, receiver } = scene
  const { secret } = (await ada.post(`${scene.path(id)}/rotate`)).body as Hook
  answer()
  await eventually('the stored result', async () => (await attempts(id)) > 0)
  await expectUnharmed(id)
  await eventually('another delivery', () => receiver.received.length === 2)
  expect(verified(secret, receiver.received[1]!)).toEqual(receiver.received[1]!.body)
})

test('enabling a webhook resets its failures, even while the last attempt of five days is running', async () => {
  scene = await openScene(undefined, (response) => response.writeHead(500).end())
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.createTasks(1)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  const { respond, answer } = held(500)
  receiver.respond = respond
  await scene.sql`update webhooks set failing_since = failing_since - interval '5 days', next_at = now()`
  await eventually('the last attempt', () => receiver.received.length === 2)
  expect((await ada.patch(scene.path(id), { enabled: true })).status).toBe(200)
  answer()
  await eventually('the stored result', async () => (await attempts(id)) > 1)
  await expectUnharmed(id)
  await eventually('a successful delivery', async () => (await scene.state(id)).cursor === 4)
})

test('events delivered before a change of the URL are not sent to the new URL', async () => {
  const { id, answer } = await heldAt(200)
  const next = await openReceiver()
  await scene.ada.patch(scene.path(id), { url: next.url })
  answer()
  await eventually('the stored result', async () => (await scene.state(id)).cursor >= 3)
  await scene.createTasks(1)
  await eventually('the next event', () => next.received.length === 1)
  expect(next.seqs()).toEqual([5])
  await next.close()
})

for (const [what, change, sent] of [
  ['maxEvents', { maxEvents: 2 }, [3, 4, 5, 6, 7]],
  ['types', { types: ['task.created'] }, [3, 4, 5]],
] as const)
  test(`after a change of ${what}, a failed delivery is retried with new contents and a new id`, async () => {
    scene = await openScene(undefined, (response) => response.writeHead(500).end())
    const { ada, receiver } = scene
    const { id } = await scene.hook({ enabled: false })
    await scene.createTasks(3)
    await ada.patch(scene.path(id), { enabled: true })
    await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
    receiver.respond = (response) => response.end()
    await ada.patch(scene.path(id), change)
    await scene.hurry()
    await eventually('all events', async () => (await scene.state(id)).cursor === 7)
    const [before, after] = receiver.received
    expect(before!.body.data.events).toHaveLength(4)
    expect(after!.headers['webhook-id']).not.toBe(before!.headers['webhook-id'])
    expect(receiver.seqs().slice(4)).toEqual([...sent])
  })

test('a new URL resets the failures, and gets the failed delivery at once', async () => {
  scene = await openScene(undefined, (response) => response.writeHead(503, { 'retry-after': '3600' }).end())
  const { id } = await scene.hook({ types: ['task.created'] })
  await scene.createTasks(1)
  await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
  const next = await openReceiver()
  await scene.ada.patch(scene.path(id), { url: next.url })
  await expectUnharmed(id)
  await eventually('a delivery', () => next.received.length === 1)
  await next.close()
})

test('two concurrent changes of a webhook are both applied', async () => {
  scene = await openScene()
  const { id } = await scene.hook()
  const changed = await scene.service.services.database.reads.begin(async (sql) => {
    await sql`select from webhooks where id = ${id} for update`
    const changes = [{ maxEvents: 7 }, { types: ['task.created'] }].map((one) =>
      scene.ada.patch(scene.path(id), one),
    )
    await untilWaiting('update streams')
    return { changes }
  })
  expect((await Promise.all(changed.changes)).map(({ status }) => status)).toEqual([200, 200])
  expect(await scene.state(id)).toMatchObject({ maxEvents: 7, types: ['task.created'] } as never)
})
