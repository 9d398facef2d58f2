import { eventually, expectError, invite, isReplay, openTestService, register, untilBlocked } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Body } from '../kit.ts'
import { type Hook, openWebhooks, type Scene } from './scene.ts'
import { openReceiver, verified } from './receiver.ts'

const openScene = await openWebhooks()
const allOf = ({ projectId }: Scene) => `/projects/${projectId}/webhooks`

test('creates a webhook, shows it without its secret, changes it and deletes it', async () => {
  await using scene = await openScene()
  const all = allOf(scene)
  const { ada, projectId, receiver } = scene
  const url = `${receiver.url}/in?a=b`
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
  const read = await ada.get(scene.path(shown.id))
  expect(read.body).toEqual(shown as never)
  expect((await ada.get(all)).body).toEqual([shown] as never)
  const ifNoneMatch = { 'if-none-match': read.headers.get('etag')! }
  expect((await ada.get(scene.path(shown.id), ifNoneMatch)).status).toBe(304)
  const changed = await ada.patch(scene.path(shown.id), { types: null, maxEvents: 1, enabled: false })
  expect(changed.body).toEqual({ ...shown, types: null, maxEvents: 1, enabled: false } as never)
  const removal = await ada.delete(scene.path(shown.id))
  expect([removal.status, removal.body]).toEqual([200, { message: 'Webhook deleted successfully' } as Body])
  expectError(await ada.get(scene.path(shown.id)), 404, 'Webhook not found')
})

test('applies the defaults of a new webhook, and rejects invalid fields with 400', async () => {
  await using scene = await openScene()
  const all = allOf(scene)
  const { ada, receiver } = scene
  expect(await scene.hook()).toMatchObject({ types: null, maxEvents: 100, enabled: true } as never)
  const urls = [7, 'hooks', 'ftp://127.0.0.1/', 'http://a:b@127.0.0.1/', 'http://169.254.169.254/latest']
  const others = [
    ...[[], ['task.made'], 'task.created'].map((types) => ({ types })),
    ...[0, 101, 1.5, '5'].map((maxEvents) => ({ maxEvents })),
    ...['', 'Me', 7, [ada.id], `${ada.id}x`].map((exceptActorId) => ({ exceptActorId })),
    ...[{ enabled: 1 }, { secrets: 'x' }],
  ].map((wrong) => ({ url: receiver.url, ...wrong }))
  const unroutable = ['http://[fe80::1]/', 'http://0x0/']
  for (const wrong of [{}, ...[...urls, ...unroutable].map((url) => ({ url })), ...others])
    expectError(await ada.post(all, wrong), 400)
})

test('rejects a URL that resolves to a private address with 400, on creation and on change', async () => {
  await using strict = await openTestService({ WEBHOOK_ALLOW_HTTP: 'off', WEBHOOK_ALLOW_PRIVATE: 'off' })
  const bob = await register(strict.client)
  const { id } = (await bob.post('/projects', { name: 'P' })).body
  const path = `/projects/${id}/webhooks`
  const { body } = await bob.post(path, { url: 'https://192.88.98.1/hook' })
  for (const url of [
    ...['http://example.com/', 'https://127.0.0.1/', 'https://2130706433/', 'https://[::ffff:10.0.0.1]/'],
    ...['https://localhost/', 'https://10.0.0.1/', 'https://169.254.169.254/', 'https://ada@example.com/'],
  ]) {
    expectError(await bob.post(path, { url }), 400, /^url must /)
    expectError(await bob.patch(`${path}/${body.id}`, { url }), 400, /^url must /)
  }
  expect((await bob.get(path)).body).toHaveLength(1)
  const messageFor = async (url: string) => (await bob.post(path, { url })).body.message
  expect(await messageFor('http://example.com/')).toBe(
    'url must begin with https://, unless the operator sets WEBHOOK_ALLOW_HTTP=on',
  )
  for (const url of ['https://127.0.0.1/', 'https://10.0.0.1/', 'https://[fd12::1]/', 'https://localhost/'])
    expect(await messageFor(url)).toBe(
      'url must resolve to a public address, unless the operator sets WEBHOOK_ALLOW_PRIVATE=on',
    )
  // The error must not name a setting, because no setting allows these URLs.
  for (const url of ['https://169.254.169.254/', 'https://[fe80::1]/', 'ftp://example.com/'])
    expect(await messageFor(url)).not.toContain('WEBHOOK_')
})

test('only an ADMIN reads or changes webhooks, and only in the same project', async () => {
  await using scene = await openScene()
  const all = allOf(scene)
  const { id } = await scene.hook()
  const [editor, stranger] = [await register(scene.service.client), await register(scene.service.client)]
  await invite(scene.ada, scene.projectId, editor, 'EDITOR')
  const { id: other } = (await editor.post('/projects', { name: 'Other' })).body
  for (const [who, status] of [
    [editor, 403],
    [stranger, 404],
  ] as const) {
    for (const path of [all, scene.path(id), `${scene.path(id)}/deliveries`])
      expectError(await who.get(path), status)
    for (const verb of ['rotate', 'test']) expectError(await who.post(`${scene.path(id)}/${verb}`), status)
    expectError(await who.post(`${scene.path(id)}/replay`, { after: 0 }), status)
    expectError(await who.patch(scene.path(id), { enabled: false }), status)
    expectError(await who.delete(scene.path(id)), status)
  }
  const elsewhere = `/projects/${other}/webhooks/${id}`
  for (const [method, path] of [
    ['GET', elsewhere],
    ['DELETE', elsewhere],
    ['POST', `${elsewhere}/rotate`],
  ] as const)
    expectError(await editor.call(method, path), 404, 'Webhook not found')
})

test('limits the number of webhooks of a project, even for concurrent creations', async () => {
  await using scene = await openScene({ PROJECT_WEBHOOKS: '3' })
  const all = allOf(scene)
  const { url } = scene.receiver
  const answers = await Promise.all(upTo(9).map(() => scene.ada.post(all, { url })))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array(6).fill(409)])
  const { body } = await scene.ada.get(all)
  expect(body).toHaveLength(3)
  await scene.ada.delete(scene.path(body[1]!.id))
  expect((await scene.ada.post(all, { url: scene.receiver.url })).status).toBe(201)
})

test('a request repeated with the same Idempotency-Key returns the same secret, which no table stores in plain text', async () => {
  await using scene = await openScene()
  const all = allOf(scene)
  const { ada } = scene
  const key = { 'idempotency-key': 'once' }
  const body = { url: scene.receiver.url }
  const [first, again] = [await ada.post(all, body, key), await ada.post(all, body, key)]
  expect([again.status, again.body, isReplay(again)]).toEqual([201, first.body, true])
  expect((await ada.get(all)).body).toHaveLength(1)
  const { secret } = first.body as Hook
  for (const table of ['webhooks', 'idempotency_keys']) {
    const [row] = await scene.sql<
      { text: string }[]
    >`select string_agg(t::text, ' ') as text from ${scene.sql(table)} t`
    expect(row!.text).not.toContain(secret.slice(6))
  }
  expect((await ada.post(`${scene.path(first.body.id)}/rotate`, undefined, key)).status).toBe(422)
  const rotate = () => ada.post(`${scene.path(first.body.id)}/rotate`, undefined, { 'idempotency-key': 'r' })
  const [one, two] = await Promise.all([rotate(), rotate()])
  expect((one!.body as Hook).secret).toBe((two!.body as Hook).secret)
})

test('If-Match rejects a change after another change, but not after delivery progress', async () => {
  await using scene = await openScene()
  const { ada, receiver } = scene
  const { id } = await scene.hook({ types: ['task.created'] })
  const etag = (await ada.get(scene.path(id))).headers.get('etag')!
  await scene.createTasks(1)
  await eventually('a delivery', async () => (await scene.state(id)).cursor === 3)
  expect((await ada.get(scene.path(id), { 'if-none-match': etag })).status).toBe(200)
  const changes = [1, 2, 3].map((n) => ada.patch(scene.path(id), { maxEvents: n }, { 'if-match': etag }))
  expect((await Promise.all(changes)).map(({ status }) => status).sort()).toEqual([200, 412, 412])
  expectError(await ada.delete(scene.path(id), { 'if-match': etag }), 412)
  expect(receiver.seqs()).toEqual([3])
})

test('concurrent changes of one webhook are all stored, also in one commit', async () => {
  await using scene = await openScene()
  const { ada, receiver } = scene
  const { id } = await scene.hook({ maxEvents: 100 })
  for (let round = 1; round <= 20; round++) {
    const url = `${receiver.url}/round-${round}`
    const types = [round % 2 ? 'task.created' : 'task.updated', 'task.deleted']
    const changes = [{ url }, { types }, { maxEvents: round }].map((change) =>
      ada.patch(scene.path(id), change),
    )
    const rotated = ada.post(`${scene.path(id)}/rotate`)
    expect((await Promise.all([...changes, rotated])).map(({ status }) => status)).toEqual([
      200, 200, 200, 200,
    ])
    expect(await scene.state(id)).toMatchObject({ url, types, maxEvents: round } as never)
    const test = await ada.post(`${scene.path(id)}/test`)
    expect(test.body.status).toBe(200 as never)
    const { secret } = (await rotated).body as Hook
    expect(() => verified(secret, receiver.received.at(-1)!)).not.toThrow()
  }
})

let scene: Scene

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

describe('changed', () => {
  afterEach(() => scene.close())

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
    ['its position by a replay', { after: 1 }, [2, 3, 4, 5, 6, 7]],
  ] as const)
    test(`after a change of ${what}, a failed delivery is retried with new contents and a new id`, async () => {
      scene = await openScene(undefined, (response) => response.writeHead(500).end())
      const { ada, receiver } = scene
      const { id } = await scene.hook({ enabled: false })
      await scene.createTasks(3)
      await ada.patch(scene.path(id), { enabled: true })
      await eventually('a failed attempt', async () => (await scene.state(id)).failures === 1)
      receiver.respond = (response) => response.end()
      if ('after' in change) await ada.post(`${scene.path(id)}/replay`, change)
      else await ada.patch(scene.path(id), change)
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
})
