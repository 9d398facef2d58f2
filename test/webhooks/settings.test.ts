import { afterEach, expect, test } from 'bun:test'
import { expectRefusal } from '../http/answers.ts'
import { eventually } from '../races/pair.ts'
import { type Body, invite, register } from '../support/client.ts'
import { openTestService } from '../support/service.ts'
import { verified } from './receiver.ts'
import { type Hook, openScene, type Scene } from './scene.ts'

let scene: Scene
afterEach(() => scene.close())
const open = async (...given: Parameters<typeof openScene>) => void (scene = await openScene(...given))
const seqsOf = (n: number) => scene.receiver.received[n]!.body.data.events.map(({ seq }) => seq)
const all = () => `/projects/${scene.projectId}/webhooks`

test('a webhook is made, shown without its secret, changed and deleted', async () => {
  await open()
  const { ada, projectId, receiver } = scene
  const url = `${receiver.url}/in?a=b`
  const made = await ada.post(all(), { url, types: ['task.created', 'task.created'], maxEvents: 7 })
  const { secret, ...shown } = made.body as Hook
  expect(made.status).toBe(201)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(shown).toEqual({
    ...{ id: expect.any(String), projectId, url, types: ['task.created'], maxEvents: 7, enabled: true },
    ...{ disabledReason: null, cursor: 1, failures: 0, nextAttemptAt: null, createdAt: expect.any(String) },
  } as never)
  expect(made.headers.get('location')).toBe(`/api/v1${scene.path(shown.id)}`)
  expect(made.headers.get('cache-control')).toBe('no-store')
  const read = await ada.get(scene.path(shown.id))
  expect(read.body).toEqual(shown as never)
  expect((await ada.get(all())).body).toEqual([shown] as never)
  expect((await ada.get(scene.path(shown.id), { 'if-none-match': read.headers.get('etag')! })).status).toBe(
    304,
  )
  const changed = await ada.patch(scene.path(shown.id), { types: null, maxEvents: 1, enabled: false })
  expect(changed.body).toEqual({ ...shown, types: null, maxEvents: 1, enabled: false } as never)
  const gone = await ada.delete(scene.path(shown.id))
  expect([gone.status, gone.body]).toEqual([200, { message: 'Webhook deleted successfully' } as Body])
  expectRefusal(await ada.get(scene.path(shown.id)), 404, 'Webhook not found')
})

test('what it is like when nothing is said, and what cannot be', async () => {
  await open()
  const { ada, receiver } = scene
  expect(await scene.hook()).toMatchObject({ types: null, maxEvents: 100, enabled: true } as never)
  for (const wrong of [
    ...[{}, { url: 7 }, { url: 'hooks' }, { url: 'ftp://127.0.0.1/' }, { url: 'http://a:b@127.0.0.1/' }],
    ...[{ url: 'http://169.254.169.254/latest' }, { url: 'http://[fe80::1]/' }, { url: 'http://0x0/' }],
    ...[
      { types: [] },
      { types: ['task.made'] },
      { types: 'task.created' },
      { maxEvents: 0 },
      { maxEvents: 101 },
    ],
    ...[{ maxEvents: 1.5 }, { maxEvents: '5' }, { enabled: 1 }, { secrets: 'x' }],
  ])
    expectRefusal(
      await ada.post(
        all(),
        'url' in wrong || !Object.keys(wrong).length ? wrong : { url: receiver.url, ...wrong },
      ),
      400,
    )
})

test('the URL is refused where it leads inside, when it is set and when it is changed', async () => {
  await open()
  const strict = await openTestService({ WEBHOOK_ALLOW_HTTP: 'off', WEBHOOK_ALLOW_PRIVATE: 'off' })
  const bob = await register(strict.client)
  const { id } = (await bob.post('/projects', { name: 'P' })).body
  const path = `/projects/${id}/webhooks`
  const { body } = await bob.post(path, { url: 'https://192.88.98.1/hook' })
  for (const url of [
    ...['http://example.com/', 'https://127.0.0.1/', 'https://2130706433/', 'https://[::ffff:10.0.0.1]/'],
    ...['https://localhost/', 'https://10.0.0.1/', 'https://169.254.169.254/', 'https://ada@example.com/'],
  ]) {
    expectRefusal(await bob.post(path, { url }), 400, /^url must /)
    expectRefusal(await bob.patch(`${path}/${body.id}`, { url }), 400, /^url must /)
  }
  expect((await bob.get(path)).body).toHaveLength(1)
  await strict.close()
})

test('only who is an ADMIN sees or changes webhooks, and of their own project', async () => {
  await open()
  const { id } = await scene.hook()
  const [editor, stranger] = [await register(scene.service.client), await register(scene.service.client)]
  await invite(scene.ada, scene.projectId, editor, 'EDITOR')
  const { id: other } = (await editor.post('/projects', { name: 'Other' })).body
  for (const [who, status] of [
    [editor, 403],
    [stranger, 404],
  ] as const) {
    for (const path of [all(), scene.path(id), `${scene.path(id)}/deliveries`])
      expectRefusal(await who.get(path), status)
    for (const verb of ['rotate', 'test']) expectRefusal(await who.post(`${scene.path(id)}/${verb}`), status)
    expectRefusal(await who.post(`${scene.path(id)}/replay`, { after: 0 }), status)
    expectRefusal(await who.patch(scene.path(id), { enabled: false }), status)
    expectRefusal(await who.delete(scene.path(id)), status)
  }
  const elsewhere = `/projects/${other}/webhooks/${id}`
  for (const answer of [
    await editor.get(elsewhere),
    await editor.delete(elsewhere),
    await editor.post(`${elsewhere}/rotate`),
  ])
    expectRefusal(answer, 404, 'Webhook not found')
})

test('a project has at most so many, also when many are made at once', async () => {
  await open({ PROJECT_WEBHOOKS: '3' })
  const answers = await Promise.all(
    Array.from({ length: 9 }, () => scene.ada.post(all(), { url: scene.receiver.url })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array(6).fill(409)])
  const { body } = await scene.ada.get(all())
  expect(body).toHaveLength(3)
  await scene.ada.delete(scene.path(body[1]!.id))
  expect((await scene.ada.post(all(), { url: scene.receiver.url })).status).toBe(201)
})

test('a repeat under its key gets the same secret, which stands nowhere as it is', async () => {
  await open()
  const { ada, service } = scene
  const key = { 'idempotency-key': 'once' }
  const body = { url: scene.receiver.url }
  const [first, again] = [await ada.post(all(), body, key), await ada.post(all(), body, key)]
  expect([again.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([
    201,
    first.body,
    'true',
  ])
  expect((await ada.get(all())).body).toHaveLength(1)
  const { secret } = first.body as Hook
  const sql = service.services.database.chores
  for (const table of ['webhooks', 'idempotency_keys']) {
    const [row] = await sql<{ told: string }[]>`select string_agg(t::text, ' ') as told from ${sql(table)} t`
    expect(row!.told).not.toContain(secret.slice(6))
  }
  const rotated = await ada.post(`${scene.path(first.body.id)}/rotate`, undefined, key)
  expect(rotated.status).toBe(422)
  const rotations = [1, 2].map(() =>
    ada.post(`${scene.path(first.body.id)}/rotate`, undefined, { 'idempotency-key': 'r' }),
  )
  const [one, two] = await Promise.all(rotations)
  expect((one!.body as Hook).secret).toBe((two!.body as Hook).secret)
})

test('If-Match holds a change to what was read, and not to how far it has got', async () => {
  await open()
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  const etag = (await ada.get(scene.path(id))).headers.get('etag')!
  await scene.work(1)
  await eventually('a delivery', async () => (await scene.state(id)).cursor === 2)
  expect((await ada.get(scene.path(id), { 'if-none-match': etag })).status).toBe(200)
  const changes = [1, 2, 3].map((n) => ada.patch(scene.path(id), { maxEvents: n }, { 'if-match': etag }))
  const statuses = (await Promise.all(changes)).map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 412, 412])
  expectRefusal(await ada.delete(scene.path(id), { 'if-match': etag }), 412)
  expect(receiver.seqs()).toEqual([2])
})

test('after a rotation both secrets sign for a day, the new one first, then it alone', async () => {
  await open()
  const { ada, receiver, service } = scene
  const { id, secret: old } = await scene.hook()
  const rotated = await ada.post(`${scene.path(id)}/rotate`)
  const { secret } = rotated.body as Hook
  expect([rotated.status, secret === old]).toEqual([200, false])
  await scene.work(1)
  await eventually('a delivery', () => receiver.received.length === 1)
  const [both] = receiver.received
  expect(String(both!.headers['webhook-signature']).split(' ')).toHaveLength(2)
  for (const one of [secret, old]) expect(verified(one, both!)).toEqual(both!.body)
  await service.services.database
    .chores`update webhooks set former_until = former_until - interval '24 hours'`
  await scene.work(1)
  await eventually('another', () => receiver.received.length === 2)
  expect(verified(secret, receiver.received[1]!)).toEqual(receiver.received[1]!.body)
  expect(() => verified(old, receiver.received[1]!)).toThrow()
})

test('a test is sent at once, also to one that is disabled, and what came back is told', async () => {
  await open({}, (response) => response.writeHead(418).end('short and stout'))
  const { ada, projectId, receiver } = scene
  const { id, secret } = await scene.hook({ enabled: false })
  const { status, body } = await ada.post(`${scene.path(id)}/test`)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    webhookId: id,
    type: 'test',
    status: 418,
    error: null,
    answer: 'short and stout',
    events: 0,
  } as never)
  const [sent] = receiver.received
  expect(verified(secret, sent!)).toEqual(sent!.body)
  expect(sent!.body).toMatchObject({ type: 'test', data: { projectId, webhookId: id, events: [] } })
  expect((await ada.get(`${scene.path(id)}/deliveries`)).body).toEqual([body] as never)
  await receiver.close()
  const unheard = await ada.post(`${scene.path(id)}/test`)
  expect(unheard.body).toMatchObject({ status: null, error: 'No connection: ECONNREFUSED' } as never)
})

test('a replay sends again what comes after a place, or leaves out what is before it', async () => {
  await open()
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.work(4)
  await eventually('all', () => receiver.seqs().length === 4)
  const again = await ada.post(`${scene.path(id)}/replay`, { after: 0 })
  expect([again.status, again.body]).toMatchObject([200, { cursor: 0 }])
  await eventually('all again', () => receiver.seqs().length === 9)
  expect(receiver.seqs().slice(4)).toEqual([1, 2, 3, 4, 5])
  await ada.patch(scene.path(id), { enabled: false })
  await scene.work(3)
  await ada.post(`${scene.path(id)}/replay`, { after: 7 })
  await ada.patch(scene.path(id), { enabled: true })
  await eventually('the last', () => receiver.seqs().at(-1) === 8)
  expect(receiver.seqs().slice(9)).toEqual([8])
  expectRefusal(await ada.post(`${scene.path(id)}/replay`, { after: 9 }), 400, /ahead of the project/)
  for (const wrong of [{}, { after: -1 }, { after: '0' }, { after: 1.5 }])
    expectRefusal(await ada.post(`${scene.path(id)}/replay`, wrong), 400)
})

test('what is changed while a delivery is under way holds, whatever becomes of that', async () => {
  const answers: (() => void)[] = []
  await open({}, (response) => void answers.push(() => response.end()))
  const { ada, receiver } = scene
  const { id } = await scene.hook()
  await scene.work(3)
  await eventually('a delivery', () => receiver.received.length === 1)
  await ada.post(`${scene.path(id)}/replay`, { after: 0 })
  answers.shift()!()
  await eventually('another', () => receiver.received.length === 2)
  expect(seqsOf(1)).toEqual([1, 2, 3, 4])
  await ada.patch(scene.path(id), { types: ['project.created'] })
  answers.shift()!()
  await eventually('a third', () => receiver.received.length === 3)
  expect(seqsOf(2)).toEqual([1])
  answers.shift()!()
  await eventually('the end of the log', async () => (await scene.state(id)).cursor === 4)
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(3)
  await scene.work(1)
  await ada.patch(scene.path(id), { types: null })
  await eventually('a fourth', () => receiver.received.length === 4)
  await ada.delete(scene.path(id))
  answers.shift()!()
  await scene.work(1)
  expectRefusal(await ada.get(scene.path(id)), 404)
  expect(receiver.received).toHaveLength(4)
})

test('every attempt is told, the newest first, page by page', async () => {
  let isBroken = true
  await open({}, (response) => response.writeHead(isBroken ? 500 : 200).end('x'.repeat(3_000)))
  const { ada } = scene
  const { id } = await scene.hook()
  await scene.work(1)
  await eventually('a failure', async () => (await scene.state(id)).failures === 1)
  isBroken = false
  await scene.hurry()
  await eventually('success', async () => (await scene.state(id)).cursor === 2)
  const path = `${scene.path(id)}/deliveries`
  const { body } = await ada.get(path)
  const common = {
    webhookId: id,
    type: 'events',
    firstSeq: 2,
    lastSeq: 2,
    events: 1,
    error: null,
    answer: 'x'.repeat(1_024),
  }
  expect(body).toMatchObject([
    { ...common, status: 200, attempt: 2 },
    { ...common, status: 500, attempt: 1 },
  ] as never)
  const [first, second] = body as unknown as { id: string; deliveryId: string }[]
  expect(first!.deliveryId).toBe(second!.deliveryId)
  const page = await ada.get(`${path}?limit=1`)
  expect(page.body).toEqual([first] as never)
  const next = /<\/api\/v1(.*)>; rel="next"/.exec(page.headers.get('link')!)![1]!
  expect((await ada.get(next)).body).toEqual([second] as never)
  expect((await ada.get(path, { 'if-none-match': (await ada.get(path)).headers.get('etag')! })).status).toBe(
    304,
  )
})
