import type { ServerResponse } from 'node:http'
import { type Client, eventually, make, newId, openForEach, openTestService, register } from '../kit.ts'
import { testSecret } from '../kit.ts'
import { openReceiver, verified } from './receiver.ts'
import { type Hook, openWebhooks } from './scene.ts'

const openScene = await openWebhooks()
const forEach = openForEach()

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
