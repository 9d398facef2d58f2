import { createServer, type Server, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { type Client, eventually, expectError, invite, listen, make, newId, openForEach } from '../kit.ts'
import { openTestService, read, readFeed, register, testSecret, upTo, withToken } from '../kit.ts'
import { openReceiver, verified } from './receiver.ts'
import { type Hook, openWebhooks } from './scene.ts'

const openScene = await openWebhooks()
const forEach = openForEach()
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

test('delivers nothing to a webhook that another worker has claimed, until the lease of that worker ends', async () => {
  await using scene = await openScene()
  const { receiver, sql } = scene
  const task = { types: ['task.created'] }
  const [{ id }, free] = [await scene.hook(task, '/claimed'), await scene.hook(task)]
  await sql`update webhooks set lease_by = ${newId()}, lease_until = now() + interval '1 hour' where id = ${id}`
  for (const seq of [4, 5]) {
    await scene.createTasks(1)
    await scene.until(free.id, 'cursor', seq)
  }
  expect(receiver.seqs('/claimed')).toEqual([])
  await sql`update webhooks set lease_until = now() where id = ${id}`
  await scene.until(id, 'cursor', 5)
  expect(receiver.seqs('/claimed')).toEqual([4, 5])
})

test.each([200, 503])(
  'an answer of %d after the end of the lease changes no claim of another worker',
  async (status) => {
    const sent: ServerResponse[] = []
    const scene = await forEach(openScene({}, (response) => void (sent.push(response) > 2 && response.end())))
    const other = await forEach(openTestService(scene.service.env))
    other.startWorkers()
    const { id } = await scene.hook()
    await scene.createTasks(1)
    await eventually('a delivery', () => sent.length === 1)
    await scene.sql`update webhooks set lease_by = null, lease_until = null`
    await eventually('a delivery by the other worker', () => sent.length === 2)
    const before = await scene.state(id)
    sent[0]!.writeHead(status).end()
    // A slow worker has closed the connection, because its lease is lost.
    const isEnded = async () => sent[0]!.destroyed || (await scene.attempts(id)).length === 1
    await eventually('the stored result', isEnded)
    expect(await scene.state(id)).toEqual(before)
    sent[1]!.end()
    await scene.until(id, 'cursor', 3)
    expect(await scene.state(id)).toMatchObject({ enabled: true, failures: 0 })
    const ids = scene.receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toEqual([ids[0], ids[0]])
  },
)

test('re-encrypts webhook secrets after a change of JWT_SECRET, without changing the secrets themselves', async () => {
  const receiver = await forEach(openReceiver())
  const { client, env } = await forEach(openTestService())
  const ada = await register(client)
  const path = `/projects/${(await make(ada, '/projects', { name: 'Engine' })).id}/webhooks`
  const { id, secret } = (await make(ada, path, { url: receiver.url, enabled: false })) as Hook
  const next = 'y'.repeat(32)
  const [both, only] = [`${next},${testSecret}`, next].map((JWT_SECRET) =>
    openTestService({ ...env, JWT_SECRET }),
  )
  const test = async (who: Client) => (await who.post(`${path}/${id}/test`)).body
  ;(await forEach(both!)).startWorkers()
  const { client: after } = await forEach(only!)
  const { body } = await after.post('/auth/login', { email: ada.email, password: 'secret-1' })
  const caller = after.as(body.access_token)
  await eventually('a test with the next key', async () => ((await test(caller)).status as unknown) === 200)
  expect(verified(secret, receiver.received.at(-1)!)).toEqual(receiver.received.at(-1)!.body)
  expect((await test(ada)).message).toBe('The secret cannot be decrypted: rotate the secret')
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
