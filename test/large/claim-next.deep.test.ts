import { make, upTo } from '../kit.ts'
import { costOf, openExplained } from './plans.ts'

const tasks = { ready: 100_000, claimed: 20_000 }
const workers = 64
/** The most rows of one claim: the first rows of three priorities, the rows that the batch loads, and the written row. */
const rowsOfClaim = 100

const { sql, owner } = await openExplained()
const { id: projectId } = await make(owner, '/projects', { name: 'Queue' })
await sql`insert into tasks
    (id, project_id, number, title, status, priority, created_at, updated_at, event_id, claimed_by, claimed_until, claim_seq)
  select uuidv7(), ${projectId}, n, 'Task ' || n, 'TODO', (array['LOW', 'MEDIUM', 'HIGH'])[1 + n % 3], now(), now(), uuidv7(),
    case when n > ${tasks.ready}::int then ${owner.id}::uuid end,
    case when n > ${tasks.ready}::int then now() + interval '1 hour' end, case when n > ${tasks.ready}::int then 1 end
  from generate_series(1, ${tasks.ready + tasks.claimed}::int) n`
await sql`update streams set last_number = ${tasks.ready + tasks.claimed} where project_id = ${projectId}`
await sql`vacuum analyze tasks`

const claimNext = () => owner.post(`/projects/${projectId}/claim-next`, { leaseSeconds: 3_600 })
const taken = new Set<string>()

async function take(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { status, body } = await claimNext()
    expect(status).toBe(200)
    expect(taken.has(body.id)).toBe(false)
    taken.add(body.id)
  }
}

test('64 workers claim different tasks, and each claim reads only the first rows of the queue', async () => {
  await take(5)
  const cost = await costOf(() => Promise.all(upTo(workers).map(() => take(10))))
  expect(taken.size).toBe(5 + 10 * workers)
  expect(cost.scans).not.toContain('Seq Scan')
  expect(cost.taskRows).toBeLessThanOrEqual(10 * workers * rowsOfClaim)
})

test('concurrent requests whose filter fits no task share one scan of the queue', async () => {
  const filter = { leaseSeconds: 60, assigneeId: owner.id }
  const cost = await costOf(async () => {
    const answers = await Promise.all(
      upTo(workers).map(() => owner.post(`/projects/${projectId}/claim-next`, filter)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
  })
  expect(cost.taskRows).toBeLessThanOrEqual(4 * tasks.ready)
})
