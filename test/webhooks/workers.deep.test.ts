import type { ServerResponse } from 'node:http'
import { eventually, holdTransaction, make, openForEach, openTestService, register } from '../kit.ts'
import { type ServiceProcess, spawnService, upTo } from '../kit.ts'
import { openReceiver, type Respond } from './receiver.ts'
import { openWebhooks } from './scene.ts'

const forEach = openForEach()
const openScene = await openWebhooks()

async function open(respond?: Respond, overrides = {}) {
  const service = await forEach(openTestService(overrides))
  const receiver = await forEach(openReceiver(respond))
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  await make(ada, `/projects/${projectId}/webhooks`, { url: receiver.url, maxEvents: 3 })
  return {
    ...{ receiver, sql: service.services.database.background },
    startWorker: () => forEach(spawnService('worker', service.env)),
    async createTasks(count: number) {
      for (const n of upTo(count)) await make(ada, '/tasks', { title: `T${n}`, projectId })
    },
    ids: () => receiver.received.map(({ headers }) => headers['webhook-id']),
    /** Waits for all events from seq 3 to `last`, in order, without deliveries whose id was received before. */
    async untilReceived(last: number) {
      const accepted = () => {
        const byId = new Map(
          receiver.received.toReversed().map((one) => [one.headers['webhook-id'], one.body]),
        )
        return [...byId.values()].toReversed().flatMap(({ data }) => data.events.map(({ seq }) => seq))
      }
      await eventually(`event ${last}`, () => accepted().at(-1) === last)
      expect(accepted()).toEqual(upTo(last).slice(2))
    },
  }
}

test('a worker killed between sending and storing the result loses no event: the same delivery is sent again', async () => {
  let victim: ServiceProcess | undefined
  const { sql, startWorker, createTasks, ids, untilReceived } = await open((response) => {
    victim?.signal('SIGKILL')
    victim = undefined
    setTimeout(() => response.end('ok'), 20)
  })
  const kills = 2
  for (const _ of upTo(kills)) {
    const worker = (victim = await startWorker())
    await createTasks(4)
    await worker.exited
    await sql`update webhooks set lease_until = now()`
  }
  await startWorker()
  await untilReceived(2 + 4 * kills)
  expect(ids().length - new Set(ids()).size).toBe(kills)
}, 300_000)

test('several workers deliver each event once and in order, even after one of them is killed', async () => {
  const { receiver, sql, startWorker, createTasks, untilReceived } = await open()
  const [first] = await Promise.all([startWorker(), startWorker(), startWorker()])
  await createTasks(10)
  await untilReceived(12)
  expect(receiver.seqs()).toHaveLength(10)
  await first.stop('SIGKILL')
  await sql`update webhooks set lease_until = now()`
  await createTasks(10)
  await untilReceived(22)
}, 300_000)

test('no other worker claims a webhook during a long delivery, and a stopping worker releases its claim immediately', async () => {
  const answers: (() => void)[] = []
  const { startWorker, createTasks, ids } = await open(
    (response) => void answers.push(() => response.end('ok')),
  )
  const first = await startWorker()
  await createTasks(1)
  await eventually('a delivery', () => answers.length === 1)
  await startWorker()
  await Bun.sleep(3_000)
  expect(answers).toHaveLength(1)
  await first.stop('SIGTERM')
  await eventually('a repeated delivery', () => answers.length === 2)
  answers.forEach((answer) => answer())
  expect(new Set(ids()).size).toBe(1)
}, 300_000)

test('without Redis, a periodic search finds the events to deliver', async () => {
  const { startWorker, createTasks, untilReceived } = await open(undefined, {
    REDIS_URL: 'redis://127.0.0.1:9',
  })
  await startWorker()
  await createTasks(7)
  await untilReceived(9)
}, 300_000)

test('a delivery that waits in Postgres to store its result does not block other webhooks', async () => {
  const held: ServerResponse[] = []
  let isHeld = true
  const times = { LOCK_TIMEOUT_MS: '30000', COMMIT_TIMEOUT_MS: '30000', BACKGROUND_TIMEOUT_MS: '5000' }
  const opening = openScene({ WEBHOOK_CONCURRENCY: '1', ...times }, (response, { path }) =>
    isHeld && path !== '/other' ? held.push(response) : response.end(),
  )
  const { receiver, service, hook, createTasks } = await forEach(opening)
  // The fast and slow limits together allow six deliveries.
  const paths = upTo(6).map((n) => `/held/${n}`)
  for (const path of paths) await hook({ types: ['task.created'] }, path)
  await createTasks(1)
  await eventually('deliveries to all paths', () => held.length === 6)
  const release = await holdTransaction(
    service.services.database.reads,
    (tx) => tx`select from webhooks where url like '%/held/%' for update`,
  )
  // A delivery that was aborted because it was slow is sent again.
  isHeld = false
  for (const response of held) response.end()
  await hook({}, '/other')
  await createTasks(1)
  await eventually('the delivery to the other webhook', () => receiver.seqs('/other').length === 1)
  expect(receiver.seqs('/held/1')).toEqual([8])
  await release()
  await eventually('the remaining events', () => paths.every((path) => receiver.seqs(path).includes(10)))
})

test('a worker sends nothing when its lease has ended while it read the events', async () => {
  const { receiver, sql, startWorker, createTasks, untilReceived } = await open(undefined, {
    READ_TIMEOUT_MS: '60000',
  })
  await createTasks(1)
  const unlock = await holdTransaction(sql, (tx) => tx`lock table events in access exclusive mode`)
  const claims = async () => (await sql`select distinct lease_by from webhooks`)[0]!.leaseBy as string | null
  await startWorker()
  await eventually('the first claim', async () => (await claims()) !== null)
  const first = await claims()
  await sql`update webhooks set lease_until = now()`
  await startWorker()
  await eventually('the second claim', async () => ![first, null].includes(await claims()))
  // The first worker gives up a second before the end of its lease of 20 s.
  await Bun.sleep(19_000)
  await unlock()
  await untilReceived(3)
  await Bun.sleep(1_000)
  expect(receiver.received).toHaveLength(1)
}, 300_000)
