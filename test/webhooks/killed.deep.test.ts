import { eventually, make, openForEach, openTestService, register, spawnService, upTo } from '../kit.ts'
import type { Person, ServiceProcess, TestService } from '../kit.ts'
import { openReceiver, type Receiver } from './receiver.ts'

const forEach = openForEach()
let service: TestService
let receiver: Receiver
const startWorker = (): Promise<ServiceProcess> => forEach(spawnService('worker', service.env))

async function open(respond?: Receiver['respond'], overrides = {}) {
  service = await forEach(openTestService(overrides))
  receiver = await forEach(openReceiver(respond))
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const { id } = await make(ada, `/projects/${projectId}/webhooks`, { url: receiver.url, maxEvents: 3 })
  return { ada, projectId, id }
}

const createTasks = async (ada: Person, projectId: string, count: number) => {
  for (let n = 0; n < count; n++) await make(ada, '/tasks', { title: `T${n}`, projectId })
}

/** The received seqs, without deliveries whose id was received before. */
const acceptedSeqs = () => {
  const seenIds = new Set<unknown>()
  return receiver.received.flatMap(({ headers, body }) => {
    if (seenIds.has(headers['webhook-id'])) return []
    seenIds.add(headers['webhook-id'])
    return body.data.events.map(({ seq }) => seq)
  })
}

test('a worker killed between sending and storing the result loses no event: the same delivery is sent again', async () => {
  let victim: ServiceProcess | undefined
  const { ada, projectId } = await open((response) => {
    victim?.signal('SIGKILL')
    victim = undefined
    setTimeout(() => response.end('ok'), 20)
  })
  const kills = 3
  for (let n = 0; n < kills; n++) {
    const worker = await startWorker()
    victim = worker
    await createTasks(ada, projectId, 4)
    await worker.exited
  }
  await startWorker()
  const last = 2 + 4 * kills
  await eventually('the last event', () => acceptedSeqs().at(-1) === last)
  expect(acceptedSeqs()).toEqual(upTo(last).slice(2))
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(ids.length - new Set(ids).size).toBe(kills)
}, 60_000)

test('several workers deliver each event once and in order, even after one of them is killed', async () => {
  const { ada, projectId } = await open()
  const [first] = await Promise.all([startWorker(), startWorker(), startWorker()])
  await createTasks(ada, projectId, 30)
  await eventually('the first 30 events', () => acceptedSeqs().at(-1) === 32)
  expect(receiver.seqs()).toEqual(upTo(32).slice(2))
  await first.stop('SIGKILL')
  await createTasks(ada, projectId, 30)
  await eventually('the remaining events', () => acceptedSeqs().at(-1) === 62)
  expect(acceptedSeqs()).toEqual(upTo(62).slice(2))
}, 60_000)

test('no other worker claims a webhook during a long delivery, and a stopping worker releases its claim immediately', async () => {
  let answers: (() => void)[] = []
  const { ada, projectId } = await open((response) => void answers.push(() => response.end('ok')))
  const first = await startWorker()
  await createTasks(ada, projectId, 1)
  await eventually('a delivery', () => answers.length === 1)
  await startWorker()
  await Bun.sleep(8_000)
  expect(receiver.received).toHaveLength(1)
  answers = []
  await first.stop('SIGTERM')
  await eventually('a repeated delivery', () => answers.length === 1)
  answers.forEach((answer) => answer())
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(1)
}, 60_000)

test('without Redis, a periodic search finds the events to deliver', async () => {
  const { ada, projectId } = await open(undefined, { REDIS_URL: 'redis://127.0.0.1:9' })
  await startWorker()
  await createTasks(ada, projectId, 7)
  await eventually('all events', () => receiver.seqs().length >= 7)
  expect(receiver.seqs()).toEqual(upTo(9).slice(2))
}, 60_000)
