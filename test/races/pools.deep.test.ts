import { make, makeProjects, openScene, openTestService } from '../kit.ts'

const { service, ada } = await openScene(['Ada'], {
  LOCK_TIMEOUT_MS: '200',
  WRITE_TIMEOUT_MS: '4000',
})

async function whileBusy(pool: 'reads' | 'background', work: () => Promise<void>): Promise<void> {
  const { config, database } = service.services
  const count = pool === 'reads' ? config.readConnections : config.backgroundConnections
  const lock = database.commits.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(1)`
    const sql = database[pool]
    const held = Array.from({ length: count }, () => sql`select pg_advisory_xact_lock_shared(1)`.execute())
    await work()
    return { held }
  })
  await Promise.all((await lock).held)
}

test('a sign-in does not wait for slow reads', () =>
  whileBusy('reads', async () => {
    const { status } = await service.client.post('/auth/login', { email: ada.email, password: 'secret-1' })
    expect(status).toBe(200)
  }))

test('reads and writes do not wait for background queries', () =>
  whileBusy('background', async () => {
    const { id } = await make(ada, '/projects', { name: 'Meanwhile' })
    expect((await ada.get(`/projects/${id}`)).status).toBe(200)
  }))

test('a write to a locked project returns 503 and does not delay other projects', async () => {
  const [locked, free] = (await makeProjects(ada, 2)) as [string, string]
  await service.services.database.background.begin(async (tx) => {
    await tx`select from streams where project_id = ${locked} for update`
    const waiting = ada.post('/tasks', { projectId: locked, title: 'Waits' })
    await make(ada, '/tasks', { projectId: free, title: 'Passes' })
    const { status, headers } = await waiting
    expect({ status, after: headers.get('retry-after') }).toEqual({ status: 503, after: '1' })
  })
  // If the write that got 503 was committed after all, its task has the previous number.
  const { number } = await make(ada, '/tasks', { projectId: locked, title: 'Passes' })
  expect((await ada.get(`/tasks?projectId=${locked}`)).body).toHaveLength(number)
})

test('a query timeout in one pool cancels no statement of another pool', async () => {
  await using own = await openTestService({ BACKGROUND_TIMEOUT_MS: '200', COMMIT_TIMEOUT_MS: '3000' })
  const { background, commits } = own.services.database
  await commits`select`
  // After this time, the connection counts as silent, unless its next query restarts the time limit.
  await Bun.sleep(3_600)
  const waiting = Array.from({ length: 80 }, () => background`select pg_sleep(0.1)`.execute())
  const outcomes = Promise.allSettled(waiting)
  expect(await commits`select pg_sleep(1.3)`).toHaveLength(1)
  expect((await outcomes).some(({ status }) => status === 'rejected')).toBe(true)
})
