import {
  type Body,
  eventually,
  expectError,
  holdTransaction,
  make,
  openTestService,
  register,
} from '../kit.ts'
import { untilBlocked, upTo } from '../kit.ts'
import { verified } from './receiver.ts'
import { type Hook, openWebhooks } from './scene.ts'

const openScene = await openWebhooks()

test('creates a webhook, shows its secret once, changes it and deletes it; its project alone has it', async () => {
  await using scene = await openScene()
  const { ada, projectId, all, sql } = scene
  const url = `${scene.receiver.url}/in?a=b`
  const body = { url, types: ['task.created', 'task.created'], maxEvents: 7 }
  const made = await ada.post(all, body, { 'idempotency-key': 'once' })
  const { secret, ...shown } = made.body as Hook
  expect(made.status).toBe(201)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const stored = await sql`select w::text from webhooks w union all select k::text from idempotency_keys k`
  expect(JSON.stringify(stored)).not.toContain(secret.slice(6))
  expect(shown).toEqual({
    ...{ id: expect.any(String), projectId, url, types: ['task.created'], maxEvents: 7, enabled: true },
    ...{ exceptActorId: null, disabledReason: null, cursor: 2, failures: 0, nextAttemptAt: null },
    ...{ createdBy: ada.id, createdAt: expect.any(String) },
  } as never)
  expect(made.headers.get('location')).toBe(`/api/v1${scene.path(shown.id)}`)
  expect(made.headers.get('cache-control')).toBe('no-store')
  expect((await ada.get(all)).body).toEqual([shown] as never)
  const bob = await register(scene.service.client)
  const { id: other } = await make(bob, '/projects', { name: 'P' })
  for (const end of ['', '/deliveries'])
    expectError(await bob.get(`/projects/${other}/webhooks/${shown.id}${end}`), 404, 'Webhook not found')
  const fields = { types: null, maxEvents: 1, enabled: false }
  expect(await scene.change(shown.id, fields)).toEqual({ ...shown, ...fields } as never)
  const removal = await ada.delete(scene.path(shown.id))
  expect([removal.status, removal.body]).toEqual([200, { message: 'Webhook deleted successfully' } as Body])
  expectError(await ada.get(scene.path(shown.id)), 404, 'Webhook not found')
  expect(await scene.hook()).toMatchObject({ types: null, maxEvents: 100, enabled: true } as never)
})

const httpsOnly = 'url must begin with https://, or http:// if the operator sets WEBHOOK_ALLOW_HTTP=on'
const publicOnly =
  'url must resolve to a public address, or a private one if the operator sets WEBHOOK_ALLOW_PRIVATE=on'
const rejectedUrls: [message: string | RegExp, urls: string][] = [
  [httpsOnly, 'http://example.com'],
  [
    publicOnly,
    'https://127.0.0.1 https://2130706433 https://[::ffff:10.0.0.1] https://localhost https://[fd12::1]',
  ],
  [/^url must /, 'https://169.254.169.254 https://[fe80::1] https://ada@example.com ftp://example.com x'],
]

test('rejects a URL that resolves to a private address with 400, on creation and on change', async () => {
  await using strict = await openTestService({ WEBHOOK_ALLOW_HTTP: 'off', WEBHOOK_ALLOW_PRIVATE: 'off' })
  const bob = await register(strict.client)
  const path = `/projects/${(await make(bob, '/projects', { name: 'P' })).id}/webhooks`
  const { id } = await make(bob, path, { url: 'https://192.88.98.1/hook' })
  for (const [message, urls] of rejectedUrls)
    for (const url of urls.split(' ')) {
      expectError(await bob.post(path, { url: `${url}/` }), 400, message)
      expectError(await bob.patch(`${path}/${id}`, { url: `${url}/` }), 400, message)
    }
  expect((await bob.get(path)).body).toHaveLength(1)
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

test('a 410 from the previous URL does not disable the webhook, even if the new URL is committed just before the 410 is stored', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  await using scene = await openScene(undefined, async (response, { path }) => {
    if (path === '/') await answered
    response.writeHead(path === '/' ? 410 : 200).end()
  })
  const { reads } = scene.service.services.database
  const { id } = await scene.hook({ types: ['task.created'] })
  await scene.createTasks(1)
  await eventually('a delivery', () => scene.receiver.received.length === 1)
  const release = await holdTransaction(
    scene.sql,
    (tx) => tx`select from webhooks where id = ${id} for update`,
  )
  const changed = scene.change(id, { url: `${scene.receiver.url}/next` })
  await untilBlocked(reads)
  answer()
  await untilBlocked(reads, 2)
  await release()
  await changed
  await eventually('a delivery to the new URL', () => scene.receiver.seqs('/next').length === 1)
  expect(await scene.state(id)).toMatchObject({ enabled: true, failures: 0, nextAttemptAt: null })
})
