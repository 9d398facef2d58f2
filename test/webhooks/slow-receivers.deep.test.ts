import postgres from 'postgres'
import { eventually, openForEach, upTo } from '../kit.ts'
import { openReceiver } from './receiver.ts'
import { openWebhooks } from './scene.ts'

const openScene = await openWebhooks()
const forEach = openForEach()

test('more unresponsive receivers than the limit do not block a responsive receiver', async () => {
  const silent = await openReceiver(() => {})
  const scene = await forEach(openScene({ WEBHOOK_CONCURRENCY: '2', PROJECT_WEBHOOKS: '100' }))
  const { receiver } = scene
  const unresponsive = await Promise.all(upTo(16).map(() => scene.hook({ url: silent.url })))
  await scene.createTasks(1)
  await eventually('pending deliveries up to both limits', () => silent.received.length >= 12)
  await scene.hook()
  await scene.createTasks(2)
  await eventually('a delivery to the receiver that answers', () => receiver.seqs().length >= 2)
  // No delivery to an unresponsive receiver has ended.
  const states = await Promise.all(unresponsive.map(({ id }) => scene.state(id)))
  expect(states.filter(({ failures }) => failures > 0)).toEqual([])
  await silent.close()
})

test('a delivery that waits in Postgres to store its result does not block other webhooks', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const locks: Promise<unknown>[] = []
  const lock = (path: string) =>
    new Promise<void>((resolve) => {
      const hold = own.begin(async (sql) => {
        await sql`select from webhooks where url like ${`%${path}`} for update`
        resolve()
        await held
      })
      locks.push(hold)
    })
  const times = { LOCK_TIMEOUT_MS: '30000', COMMIT_TIMEOUT_MS: '30000', BACKGROUND_TIMEOUT_MS: '5000' }
  const opening = openScene({ WEBHOOK_CONCURRENCY: '1', ...times }, async (response, { path }) => {
    if (path.startsWith('/held')) await lock(path)
    response.end()
  })
  const scene = await forEach(opening)
  const own: postgres.Sql = await forEach(postgres(scene.service.env.DATABASE_URL!, { max: 10 }))
  const { receiver } = scene
  // The fast and slow limits together allow six deliveries.
  const paths = Array.from({ length: 6 }, (_, n) => `/held/${n}`)
  for (const path of paths) await scene.hook({ types: ['task.created'] }, path)
  await scene.createTasks(1)
  await eventually('deliveries to all paths', () => paths.every((path) => receiver.seqs(path).length === 1))
  await scene.hook({}, '/other')
  await scene.createTasks(1)
  await eventually('the delivery to the other webhook', () => receiver.seqs('/other').length === 1)
  expect(receiver.seqs('/held/0')).toEqual([8])
  release()
  await Promise.all(locks)
  await eventually('the remaining events', () => paths.every((path) => receiver.seqs(path).length >= 2))
  for (const path of paths) expect(receiver.seqs(path)).toEqual([8, 10])
})
