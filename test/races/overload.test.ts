import postgres from 'postgres'
import { eventually, faultsOf, forFile, make, makeProjects, openScene, statuses, tally } from '../kit.ts'
import { untilBlocked, upTo } from '../kit.ts'
import type { Answer } from '../kit.ts'

const mailbox = 5
const { service, ada } = await openScene(['Ada'], {
  MAILBOX_COMMANDS: `${mailbox}`,
  WAITING_COMMANDS: '40',
  LOCK_TIMEOUT_MS: '30000',
})
const admin: postgres.Sql = await forFile(postgres(service.env.DATABASE_URL!, { max: 2, onnotice: () => {} }))

const whileBlocked = <T>(projectIds: string[], work: () => Promise<T>) =>
  admin.begin(async (sql) => {
    await sql`select 1 from streams where project_id = any(${projectIds}::uuid[]) for update`
    return { done: await work() }
  })

const untilCommitting = () => untilBlocked(admin, 1, '%update streams%')

const isBusy = ({ status, headers, body }: Answer) =>
  status === 503 && headers.get('retry-after') === '1' && body.error === 'Service Unavailable'

test('a full mailbox rejects requests immediately with 503 and Retry-After, and every queued write is stored', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Full' })
  const add = (n: number) => ada.post('/tasks', { title: `Task ${n}`, projectId })
  const rejected: Answer[] = []
  const { done } = await whileBlocked([projectId], async () => {
    const sent = [add(0)]
    await untilCommitting()
    for (const n of upTo(20)) {
      const answer = add(n)
      sent.push(answer)
      void answer.then((busy) => rejected.push(busy))
    }
    await eventually('the rejections', () => rejected.length === 20 - mailbox)
    return sent
  })
  expect(rejected.slice(0, 20 - mailbox).every(isBusy)).toBe(true)
  const statuses = (await Promise.all(done)).map(({ status }) => status)
  expect(tally(statuses)).toEqual({ 201: 1 + mailbox, 503: 20 - mailbox })
  const rows = await admin`select 1 from tasks where project_id = ${projectId}`
  expect(rows).toHaveLength(1 + mailbox)
})

test('a full mailbox of one project does not affect other projects', async () => {
  const [full, free] = await makeProjects(ada, 2)
  const wait = () => ada.post('/tasks', { title: 'Waits', projectId: full! })
  const { done } = await whileBlocked([full!], async () => {
    const sent = [wait()]
    await untilCommitting()
    sent.push(...upTo(10).map(wait))
    await make(ada, '/tasks', { title: 'Goes through', projectId: free })
    return sent
  })
  expect(statuses(await Promise.all(done))).toEqual({ 201: 6, 503: 5 })
})

test('a process with too many queued writes rejects more writes with 503 and Retry-After', async () => {
  const ids = await makeProjects(ada, 20)
  const rejected: Answer[] = []
  const { done } = await whileBlocked(ids, async () => {
    const sent = upTo(60).map((n) => ada.post('/tasks', { title: 'Waits', projectId: ids[n % ids.length] }))
    for (const answer of sent) void answer.then((busy) => rejected.push(busy))
    await eventually('the rejections', () => rejected.length === 20)
    return sent
  })
  expect(rejected.slice(0, 20).every(isBusy)).toBe(true)
  expect(statuses(await Promise.all(done))).toEqual({ 201: 40, 503: 20 })
  expect(await faultsOf(service.services.database.reads)).toEqual([])
})
