import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { freshEnv, make, openClient, openForEach, register, upTo } from '../kit.ts'
import { spawnSupervised } from './supervised-service.ts'
import { requestForever, requestOf } from './strict-client.ts'

const forEach = openForEach()
let env: Record<string, string>
beforeEach(async () => void ({ env } = await forEach(freshEnv())))

test('SIGHUP replaces the processes one after another without a failed request under load', async () => {
  const service = await forEach(spawnSupervised('start', env))
  const before = service.pids()
  const ada = await register(openClient(service.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Rolled' })
  const { id } = await make(ada, '/tasks', { title: 'Read', projectId })
  const read = () => requestOf('GET', `/tasks/${id}`, ada.token!)
  const write = () => requestOf('POST', '/tasks', ada.token!, { title: 'Written', projectId })
  const { url } = service
  const clients = [true, false].flatMap((keepsAlive) =>
    upTo(2).flatMap(() => [read, write].map((request) => requestForever(url, request, keepsAlive))),
  )
  service.signal('SIGHUP')
  await service.logged('rolling restart finished')
  await Promise.all(clients.map((client) => client.stop()))
  // Without the privilege to filter connections, the service logs that clients may have to reconnect.
  const mayReset = service.output.some((line) => line.includes('may have to reconnect'))
  if (mayReset) expect(process.getuid!()).not.toBe(0)
  const failures = clients.flatMap(({ failures }) => failures)
  expect(failures.filter((failure) => !mayReset || failure !== 'ECONNRESET')).toEqual([])
  for (const { answered } of clients) expect(answered).toBeGreaterThan(0)

  const after = service.pids()
  const all = [...before.web, ...before.worker, ...after.web, ...after.worker]
  expect([after.web.length, after.worker.length, new Set(all).size]).toEqual([2, 1, 6])
  const answered = clients.reduce((sum, { answered }, i) => sum + (i % 2) * answered, 0)
  expect(await written(projectId)).toBeWithin(answered, answered + failures.length + 1)
  expect(await service.stop()).toBe(0)
  await service.ended()
})

test('a new process that does not start replaces no process, and a later SIGHUP tries again', async () => {
  const BREAK_FILE = join(tmpdir(), `docket-broken-${crypto.randomUUID()}`)
  const service = await forEach(
    spawnSupervised('web', { ...env, BREAK_FILE }, ['--preload', `${import.meta.dir}/broken.ts`]),
  )
  const before = service.pids()
  await Bun.write(BREAK_FILE, '')
  service.signal('SIGHUP')
  await service.logged('a new process did not start: the current processes keep running')
  expect((await fetch(`${service.url}/health/ready`)).status).toBe(200)
  await rm(BREAK_FILE)
  service.signal('SIGHUP')
  await service.logged('rolling restart finished')
  expect(service.pids().web).not.toContain(before.web[0]!)
  expect(await service.stop()).toBe(0)
})

async function written(projectId: string): Promise<number> {
  const sql = postgres(env.DATABASE_URL!, { max: 1 })
  const [row] =
    await sql`select count(*)::int as n from tasks where project_id = ${projectId} and title = 'Written'`
  await sql.end()
  return row!.n
}
