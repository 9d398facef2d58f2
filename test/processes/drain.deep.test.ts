import { Redis } from 'ioredis'
import postgres from 'postgres'
import { eventually, forFile, freshEnv, freshRedis, make, openClient, openForEach, register } from '../kit.ts'
import { spawnService, statuses, upTo } from '../kit.ts'
import type { Answer, Body, Person, ServiceProcess } from '../kit.ts'
import { idleConnection } from './launch.ts'

const accepted = 20
const forEach = openForEach()
const redis = await forFile(freshRedis())
let env: Record<string, string>
let web: ServiceProcess
let admin: postgres.Sql
let ada: Person
let project: Body
async function begin(overrides: Record<string, string> = {}): Promise<void> {
  ;({ env } = await forEach(freshEnv({ WAITING_COMMANDS: String(accepted), ...overrides })))
  web = await forEach(spawnService('web', env))
  admin = await forEach(postgres(env.DATABASE_URL!, { max: 2, onnotice: () => {} }))
  ada = await register(openClient(web.url))
  project = await make(ada, '/projects', { name: 'Drained' })
}

async function stopMidway(): Promise<{ answers: Answer[]; code: number | null }> {
  const { id: projectId } = project
  const rejected: Answer[] = []
  const { sent, exited } = await admin.begin(async (sql) => {
    await sql`select 1 from streams where project_id = ${projectId} for update`
    const sent = upTo(accepted + 5).map((n) => ada.post('/tasks', { title: `Task ${n}`, projectId }))
    for (const answer of sent) void answer.then((settled) => rejected.push(settled))
    await eventually('the rejections', () => rejected.length === 5)
    const exited = web.stop()
    await eventually('the log line "stopping"', () => web.output.some((line) => line.includes('"stopping"')))
    return { sent, exited }
  })
  const tooMany = new Set(rejected.slice(0, 5))
  return { answers: (await Promise.all(sent)).filter((answer) => !tooMany.has(answer)), code: await exited }
}

async function expectDrained(): Promise<void> {
  const { answers, code } = await stopMidway()
  expect(statuses(answers)).toEqual({ 201: accepted })
  expect(code).toBe(0)
  expect(await admin`select 1 from tasks where project_id = ${project.id}`).toHaveLength(accepted)
}

describe('with Redis', () => {
  beforeEach(() => begin())

  test('the process responds to accepted requests and exits with 0', expectDrained)

  test('an idle keep-alive connection does not delay the exit', async () => {
    const idle = await idleConnection(web.url)
    await expectDrained()
    idle.destroy()
  })

  test('leases are released', async () => {
    const client = new Redis(env.REDIS_URL!)
    const leases = () => client.keys(`${env.REDIS_PREFIX}:lease:*`)
    await make(ada, '/tasks', { title: 'Warm', projectId: project.id })
    expect(await leases()).not.toEqual([])
    expect(await web.stop()).toBe(0)
    expect(await leases()).toEqual([])
    client.disconnect()
  })

  test('while a process stops under load, every task with a 201 response is committed', async () => {
    const { id: projectId } = project
    const statuses: number[] = []
    const titles: string[] = []
    let isRunning = true
    const writers = upTo(8).map(async (writer) => {
      for (let n = 0; isRunning; n++) {
        const title = `Writer ${writer} task ${n}`
        const status = await ada.post('/tasks', { title, projectId }).then(
          (answer) => answer.status,
          () => 0,
        )
        statuses.push(status)
        if (status === 201) titles.push(title)
        if (status === 0) return
      }
    })
    await eventually('some writes', () => titles.length > 100)
    expect(await web.stop()).toBe(0)
    isRunning = false
    await Promise.all(writers)
    const rows = await admin<{ title: string }[]>`select title from tasks`
    expect(new Set(rows.map(({ title }) => title))).toEqual(new Set(titles))
    for (const status of statuses) expect([201, 503, 0]).toContain(status)
  })
})

describe('with a failing Redis', () => {
  beforeEach(() => begin({ REDIS_URL: redis.url }))

  test('if Redis hangs, the process responds to accepted requests and exits with 0', async () => {
    redis.freeze()
    await expectDrained()
    redis.thaw()
  })

  test('if Redis has crashed, the process responds to accepted requests and exits with 0', async () => {
    redis.kill()
    await expectDrained()
  })
})
