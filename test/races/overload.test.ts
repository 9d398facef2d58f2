import postgres from 'postgres'
import { eventually, faultsOf, forFile, holdTransaction, make, makeProjects, openScene } from '../kit.ts'
import { openTestService, register, statuses, untilBlocked, upTo } from '../kit.ts'
import type { Answer, Sql } from '../kit.ts'

const mailbox = 5
const { service, ada, sql } = await openScene(['Ada'], {
  MAILBOX_COMMANDS: `${mailbox}`,
  WAITING_COMMANDS: '40',
  LOCK_TIMEOUT_MS: '30000',
})
const admin: postgres.Sql = await forFile(postgres(service.env.DATABASE_URL!, { max: 2, onnotice: () => {} }))

/** Locks projects while the work sends requests, and returns the responses after the lock ends. */
async function whileLocked(projectIds: string[], work: () => Promise<Promise<Answer>[]>): Promise<Answer[]> {
  const release = await holdTransaction(
    admin,
    (tx) => tx`select from streams where project_id = any(${projectIds}::uuid[]) for update`,
  )
  const sent = await work()
  await release()
  return Promise.all(sent)
}

const add = (projectId: string, title = 'Waits') => ada.post('/tasks', { title, projectId })
const untilCommitting = () => untilBlocked(admin, 1, '%update streams%')

/** Sends writes, and waits until so many are rejected. */
async function sendUntilRejected(ids: string[], count: number, rejections: number) {
  const sent = upTo(count).map((n) => add(ids[n % ids.length]!))
  const rejected: Answer[] = []
  for (const answer of sent) void answer.then((one) => rejected.push(one))
  await eventually('the rejections', () => rejected.length === rejections)
  for (const { status, headers, body } of rejected)
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '1', 'Service Unavailable'])
  return sent
}

test('a full mailbox or a process with too many queued writes rejects writes immediately, and every queued write is stored', async () => {
  const [full, free] = (await makeProjects(ada, 2)) as [string, string]
  const answers = await whileLocked([full], async () => {
    const first = add(full)
    await untilCommitting()
    const sent = await sendUntilRejected([full], 20, 20 - mailbox)
    expect((await add(free)).status).toBe(201)
    return [first, ...sent]
  })
  expect(statuses(answers)).toEqual({ 201: 1 + mailbox, 503: 20 - mailbox })
  expect(await sql`select from tasks where project_id = ${full}`).toHaveLength(1 + mailbox)
  const ids = await makeProjects(ada, 20)
  const queued = await whileLocked(ids, () => sendUntilRejected(ids, 60, 20))
  expect(statuses(queued)).toEqual({ 201: 40, 503: 20 })
  expect(await faultsOf(sql)).toEqual([])
})

test('a closing service rejects new commands, executes queued commands before it closes the database, and releases its leases', async () => {
  await using closing = await openTestService({ LOCK_TIMEOUT_MS: '30000' })
  const bea = await register(closing.client)
  const { id: projectId } = await make(bea, '/projects', { name: 'Closing' })
  const { database, actors } = closing.services
  const send = (title: string) =>
    closing.services.run({ name: 'task.create', input: { projectId, title }, caller: { userId: bea.id } })
  const own = await forFile(postgres(closing.env.DATABASE_URL!, { max: 1 }))
  const release = await holdTransaction(
    own,
    (tx) => tx`select from streams where project_id = ${projectId} for update`,
  )
  const first = send('Under way')
  await untilBlocked(database.reads, 1, '%update streams%')
  const waiting = upTo(20).map((n) => send(`Waiting ${n}`))
  const redis = await forFile(new Bun.RedisClient(closing.env.REDIS_URL))
  const leases = () => redis.send('KEYS', [`${closing.env.REDIS_PREFIX}:lease:*`]) as Promise<string[]>
  expect(await leases()).toHaveLength(1)
  const closed = closing.services.close()
  await eventually('the service to reject commands', () => actors.isClosing)
  expect(await send('Late').catch((error: { status: number }) => error.status)).toBe(503)
  await Promise.all([release(), closed])
  const replies = await Promise.all([first, ...waiting])
  expect(JSON.parse(replies.at(-1)!.body).title).toBe('Waiting 20')
  expect(await leases()).toEqual([])
})

test('with COMMIT_PROJECTS=1 each commit statement writes one project, and a move writes two', async () => {
  await using single = await openTestService({ COMMIT_PROJECTS: '1' })
  const bea = await register(single.client)
  const { seconds, units } = single.services.counts.commits
  const ids = await makeProjects(bea, 20)
  const before = seconds.total
  const tasks = await Promise.all(ids.map((projectId) => make(bea, '/tasks', { projectId, title: 'T' })))
  expect(seconds.total - before).toBe(20)
  const operations = upTo(3).map((n) => ({ op: 'task.create', title: `${n}` }))
  await Promise.all(ids.map((id) => bea.post(`/projects/${id}/batch`, { operations })))
  expect(seconds.total - before).toBe(40)
  const won = units.won
  for (const [n, { id }] of tasks.entries())
    await bea.patch(`/tasks/${id}`, { projectId: ids[(n + 1) % ids.length] })
  expect([seconds.total - before, units.won - won]).toEqual([60, 20])
  expect(await faultsOf(single.services.database.background)).toEqual([])
})

test('requests that time out while they load rows leave their project free for other writes', async () => {
  // The read timeout is longer than the write timeout, so that a request times out before its read does.
  await using slow = await openTestService({ WRITE_TIMEOUT_MS: '3000', READ_TIMEOUT_MS: '60000' })
  const bea = await register(slow.client)
  const [projectId, otherId] = (await makeProjects(bea, 2)) as [string, string]
  const { background } = slow.services.database
  const lockComments = (tx: Sql) => tx`lock table comments in access exclusive mode`
  const lockOther = (tx: Sql) => tx`select from streams where project_id = ${otherId} for update`
  for (const [lock, isUndo] of [
    [lockComments, false],
    [lockComments, true],
    [lockOther, false],
  ] as const) {
    const { id } = await make(bea, '/tasks', { title: 'T', projectId })
    const seq = Number((await bea.get(`/tasks/${id}`)).headers.get('docket-version'))
    const send = () =>
      isUndo
        ? bea.post(`/projects/${projectId}/undo`, { seq })
        : bea.patch(`/tasks/${id}`, { projectId: otherId })
    const release = await holdTransaction(background as unknown as postgres.Sql, (tx) =>
      lock(tx as unknown as Sql),
    )
    const timedOut = (await send()).status
    const meanwhile = (await bea.post('/tasks', { title: 'Meanwhile', projectId })).status
    await release()
    expect([timedOut, meanwhile]).toEqual([503, 201])
    expect((await bea.get(`/tasks/${id}`)).body.projectId).toBe(projectId)
    expect((await send()).status).toBe(200)
  }
})
