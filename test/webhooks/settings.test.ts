import { type Answer, type Body, eventually, expectError, holdTransaction, isReplay } from '../kit.ts'
import { openTestService, register, untilBlocked, upTo } from '../kit.ts'
import { type Received, verified } from './receiver.ts'
import { held, type Hook, openWebhooks, type Scene } from './scene.ts'

const openScene = await openWebhooks()

test('creates a webhook, shows it without its secret, changes it and deletes it', async () => {
  await using scene = await openScene()
  const { ada, projectId, all } = scene
  const url = `${scene.receiver.url}/in?a=b`
  const made = await ada.post(all, { url, types: ['task.created', 'task.created'], maxEvents: 7 })
  const { secret, ...shown } = made.body as Hook
  expect(made.status).toBe(201)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(shown).toEqual({
    ...{ id: expect.any(String), projectId, url, types: ['task.created'], maxEvents: 7, enabled: true },
    exceptActorId: null,
    ...{ disabledReason: null, cursor: 2, failures: 0, nextAttemptAt: null, createdBy: ada.id },
    createdAt: expect.any(String),
  } as never)
  expect(made.headers.get('location')).toBe(`/api/v1${scene.path(shown.id)}`)
  expect(made.headers.get('cache-control')).toBe('no-store')
  expect((await ada.get(scene.path(shown.id))).body).toEqual(shown as never)
  expect((await ada.get(all)).body).toEqual([shown] as never)
  const fields = { types: null, maxEvents: 1, enabled: false }
  expect(await scene.change(shown.id, fields)).toEqual({ ...shown, ...fields } as never)
  const removal = await ada.delete(scene.path(shown.id))
  expect([removal.status, removal.body]).toEqual([200, { message: 'Webhook deleted successfully' } as Body])
  expectError(await ada.get(scene.path(shown.id)), 404, 'Webhook not found')
  expect(await scene.hook()).toMatchObject({ types: null, maxEvents: 100, enabled: true } as never)
})

const needsHttps = 'url must begin with https://, unless the operator sets WEBHOOK_ALLOW_HTTP=on'
const needsPublic = 'url must resolve to a public address, unless the operator sets WEBHOOK_ALLOW_PRIVATE=on'
/** No setting allows these URLs, so the error must not name a setting. */
const forbidden = /^url must (?!.*WEBHOOK_)/

test('rejects a URL that resolves to a private address with 400, on creation and on change', async () => {
  await using strict = await openTestService({ WEBHOOK_ALLOW_HTTP: 'off', WEBHOOK_ALLOW_PRIVATE: 'off' })
  const bob = await register(strict.client)
  const path = `/projects/${(await bob.post('/projects', { name: 'P' })).body.id}/webhooks`
  const { body } = await bob.post(path, { url: 'https://192.88.98.1/hook' })
  const messages: [hosts: string, message: string | RegExp][] = [
    ['http://example.com', needsHttps],
    [
      'https://127.0.0.1 https://2130706433 https://[::ffff:10.0.0.1] https://localhost https://10.0.0.1 https://[fd12::1]',
      needsPublic,
    ],
    [
      'https://169.254.169.254 https://[fe80::1] https://ada@example.com https://a:b@example.com ftp://example.com hooks',
      forbidden,
    ],
  ]
  for (const [hosts, message] of messages)
    for (const host of hosts.split(' ')) {
      expectError(await bob.post(path, { url: `${host}/` }), 400, message)
      expectError(await bob.patch(`${path}/${body.id}`, { url: `${host}/` }), 400, message)
    }
  expect((await bob.get(path)).body).toHaveLength(1)
})

test('a webhook of another project is not found', async () => {
  await using scene = await openScene()
  const { id } = await scene.hook()
  const bob = await register(scene.service.client)
  const path = `/projects/${(await bob.post('/projects', { name: 'P' })).body.id}/webhooks/${id}`
  const requests = ['GET ', 'GET /deliveries', 'PATCH ', 'DELETE ', 'POST /rotate', 'POST /test']
  for (const [method = '', end = ''] of requests.map((one) => one.split(' ')))
    expectError(
      await bob.call(method, path + end, method === 'PATCH' ? {} : undefined),
      404,
      'Webhook not found',
    )
})

test('limits the number of webhooks of a project, even for concurrent creations', async () => {
  await using scene = await openScene({ PROJECT_WEBHOOKS: '3' })
  const { ada, all, receiver } = scene
  const create = async () => (await ada.post(all, { url: receiver.url })).status
  expect((await Promise.all(upTo(9).map(create))).sort()).toEqual([201, 201, 201, ...Array(6).fill(409)])
  const { body } = await ada.get(all)
  expect(body).toHaveLength(3)
  await ada.delete(scene.path(body[1]!.id))
  expect(await create()).toBe(201)
})

test('a request repeated with the same Idempotency-Key returns the same secret, which no table stores in plain text', async () => {
  await using scene = await openScene()
  const { ada, all, sql } = scene
  const create = () => ada.post(all, { url: scene.receiver.url }, { 'idempotency-key': 'once' })
  const [first, again] = [await create(), await create()]
  expect([again.status, again.body, isReplay(again)]).toEqual([201, first.body, true])
  expect((await ada.get(all)).body).toHaveLength(1)
  const { secret, id } = first.body as Hook
  const rows = await sql`select w::text from webhooks w union all select k::text from idempotency_keys k`
  expect(JSON.stringify(rows)).not.toContain(secret.slice(6))
  const rotate = (key: string) => ada.post(`${scene.path(id)}/rotate`, undefined, { 'idempotency-key': key })
  expect((await rotate('once')).status).toBe(422)
  const [one, two] = await Promise.all([rotate('r'), rotate('r')])
  expect((one.body as Hook).secret).toBe((two.body as Hook).secret)
})

test('If-Match rejects a change after another change, but not after delivery progress', async () => {
  await using scene = await openScene()
  const { ada } = scene
  const { id } = await scene.hook({ types: ['task.created'] })
  const etag = (await ada.get(scene.path(id))).headers.get('etag')!
  await scene.createTasks(1)
  await scene.until(id, 'cursor', 3)
  expect((await ada.get(scene.path(id), { 'if-none-match': etag })).status).toBe(200)
  const changes = [1, 2, 3].map((n) => ada.patch(scene.path(id), { maxEvents: n }, { 'if-match': etag }))
  expect((await Promise.all(changes)).map(({ status }) => status).sort()).toEqual([200, 412, 412])
  expectError(await ada.delete(scene.path(id), { 'if-match': etag }), 412)
})

test('concurrent changes of one webhook are all stored, also in one commit', async () => {
  await using scene = await openScene()
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  for (const round of upTo(10)) {
    const url = `${receiver.url}/round-${round}`
    const types = [round % 2 ? 'task.created' : 'task.updated', 'task.deleted']
    const changes = [{ url }, { types }, { maxEvents: round }].map((fields) =>
      ada.patch(scene.path(id), fields),
    )
    const answers = await Promise.all([...changes, ada.post(`${scene.path(id)}/rotate`)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await scene.state(id)).toMatchObject({ url, types, maxEvents: round } as never)
    expect((await ada.post(`${scene.path(id)}/test`)).body.status).toBe(200 as never)
    const { secret } = answers[3]!.body as Hook
    expect(() => verified(secret, receiver.received.at(-1)!)).not.toThrow()
  }
})

type Change = (scene: Scene, id: string) => Promise<Answer>
const patch =
  (fields: object): Change =>
  ({ ada, path }, id) =>
    ada.patch(path(id), fields)
const changes: Record<string, Change> = {
  URL: ({ ada, path, receiver }, id) => ada.patch(path(id), { url: `${receiver.url}/next` }),
  secret: ({ ada, path }, id) => ada.post(`${path(id)}/rotate`),
  types: patch({ types: null }),
  cursor: ({ ada, path }, id) => ada.post(`${path(id)}/replay`, { after: 3 }),
  maxEvents: patch({ maxEvents: 2 }),
}

/**
 * What changes before or after the answer to the delivery of the events 3 to 5, the answer, the paths and seqs of later
 * deliveries, and whether the first of these deliveries has the same id.
 */
const deliveries = `
  URL before 410 /next:3,4,5 same
  URL before 503 /next:3,4,5 same
  URL after 503 /next:3,4,5 same
  URL before 200
  secret before 503 /:3,4,5 same
  types before 200 /:3,4,5,6,7 new
  types after 503 /:3,4,5,6,7 new
  cursor before 200 /:4,5 new
  cursor after 503 /:4,5 new
  maxEvents after 503 /:3,4;/:5 new`

test.each(
  deliveries
    .trim()
    .split(/\n\s+/)
    .map((line) => [line]),
)(
  'a change during or after a delivery stays in effect, and decides what is delivered next: %s',
  async (line) => {
    const [what = '', when, status, later = '', sameOrNew] = line.split(' ')
    const sent = later.split(';').filter(Boolean)
    const failures = when === 'after' && ['types', 'maxEvents'].includes(what) ? 1 : 0
    const { respond, answer } = held(Number(status))
    await using scene = await openScene(undefined, respond)
    const { received } = scene.receiver
    const { id } = await scene.hook({ types: ['task.created'], enabled: false })
    await scene.createTasks(3)
    await scene.change(id, { enabled: true })
    await eventually('a delivery', () => received.length === 1)
    if (when === 'after') {
      answer()
      await scene.until(id, 'failures', 1)
    }
    const { body } = await changes[what]!(scene, id)
    answer()
    await eventually('the stored result', async () => (await scene.attempts(id)).length > 0)
    expect(await scene.state(id)).toMatchObject({ enabled: true, failures })
    if (failures > 0) await scene.hurry()
    await eventually('the deliveries', () => received.length > sent.length)
    await scene.until(id, 'cursor', 7)
    const seqsOf = ({ path, body }: Received) => `${path}:${body.data.events.map(({ seq }) => seq)}`
    expect(received.slice(1).map(seqsOf)).toEqual(sent)
    const ids = received.slice(0, 2).map(({ headers }) => headers['webhook-id'])
    if (sameOrNew) expect(ids[0] === ids[1] ? 'same' : 'new').toBe(sameOrNew)
    const { secret } = body as Hook
    if (secret) expect(verified(secret, received[1]!)).toEqual(received[1]!.body)
    expect(await scene.state(id)).toMatchObject({ enabled: true, failures: 0, nextAttemptAt: null })
  },
)

test('a 410 from the previous URL does not disable the webhook, even if the new URL is committed just before the 410 is stored', async () => {
  const { respond, answer } = held(410)
  await using scene = await openScene(undefined, respond)
  const { reads } = scene.service.services.database
  const { id } = await scene.hook({ types: ['task.created'] })
  await scene.createTasks(1)
  await eventually('a delivery', () => scene.receiver.received.length === 1)
  const release = await holdTransaction(
    scene.sql,
    (tx) => tx`select from webhooks where id = ${id} for update`,
  )
  const changed = changes.URL!(scene, id)
  await untilBlocked(reads)
  answer()
  await untilBlocked(reads, 2)
  await release()
  expect((await changed).status).toBe(200)
  await eventually('a delivery to the new URL', () => scene.receiver.seqs('/next').length === 1)
  expect(await scene.state(id)).toMatchObject({ enabled: true, failures: 0, nextAttemptAt: null })
})

test('enabling a webhook resets its failures, even while the last attempt of five days is running', async () => {
  await using scene = await openScene(undefined, (response) => response.writeHead(500).end())
  const { receiver } = scene
  const { id } = await scene.hook()
  await scene.createTasks(1)
  await scene.until(id, 'failures', 1)
  const { respond, answer } = held(500)
  receiver.respond = respond
  await scene.hurry(5)
  await eventually('the last attempt', () => receiver.received.length === 2)
  expect(await scene.change(id, { enabled: true })).toMatchObject({ failures: 0 })
  answer()
  await scene.until(id, 'cursor', 4)
  expect(await scene.state(id)).toMatchObject({ enabled: true, failures: 0, nextAttemptAt: null })
})

test('nothing is sent to a deleted webhook', async () => {
  await using scene = await openScene()
  const task = { types: ['task.created'] }
  const [deleted, other] = [await scene.hook(task), await scene.hook(task, '/other')]
  await scene.createTasks(1)
  await scene.until(deleted.id, 'cursor', 4)
  expect((await scene.ada.delete(scene.path(deleted.id))).status).toBe(200)
  await scene.createTasks(1)
  await scene.until(other.id, 'cursor', 6)
  expect([scene.receiver.seqs(), scene.receiver.seqs('/other')]).toEqual([[4], [4, 6]])
})
