import { eventually, forFile, freshRedis, holdTransaction, openTestService, register } from '../kit.ts'
import { spawnService } from '../kit.ts'
import { createFullProject, flushRedis } from './remains.ts'

const attempts = 3
const redis = await forFile(freshRedis())
const service = await forFile(
  openTestService({ REDIS_URL: redis.url, JOB_ATTEMPTS: String(attempts), SWEEP_EVERY_MS: '50' }),
)
const ada = await register(service.client)
const doomed = await createFullProject(ada, 2)

interface Row {
  id: string
  attempts: number
  error: string | null
  parkedAt: string | null
}
const row = async () =>
  (await service.services.database.reads<Row[]>`select id, attempts, error, parked_at from outbox`)[0]

test('a job whose worker crashes at each attempt becomes a dead letter, with a log line', async () => {
  await ada.delete(`/projects/${doomed.id}`)
  const release = await holdTransaction(
    service.services.database.commits,
    (tx) => tx`lock table comments in access exclusive mode`,
  )
  for (let n = 1; n <= attempts; n++) {
    const worker = await spawnService('worker', service.env)
    await eventually(`try ${n}`, async () => (await row())!.attempts === n)
    await worker.stop('SIGKILL')
    await flushRedis(redis.url)
  }
  const worker = await spawnService('worker', service.env)
  await eventually('a dead letter', async () => Boolean((await row())?.parkedAt))
  const { id, error } = (await row())!
  expect(error).toBe('The worker ended before the job was done')
  expect(await worker.stop()).toBe(0)
  await eventually('the log line of the dead letter', () => worker.output.some((line) => line.includes(id)))
  const lines = worker.output.map((line) => JSON.parse(line))
  expect(lines).toContainEqual(expect.objectContaining({ level: 50, id, job: 'purge-project' }))
  await release()
})
