import { maxScannedEvents } from '../../modules/events/rows.ts'
import { type Body, expireEvents, make, SliceEnded, writeCursor } from '../kit.ts'
import { costOf, openExplained } from './plans.ts'

const tasks = 1_000_000
const limit = 20

const { sql, owner } = await openExplained()
const large = await make(owner, '/projects', { name: 'Large' })
const small = await make(owner, '/projects', { name: 'Small' })
await fill(large.id, tasks)
await fill(small.id, 40)
await sql`vacuum analyze events, streams`

/** Inserts `count` events without content, one for each second. */
async function fill(projectId: string, count: number): Promise<void> {
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select ${projectId}, n + 1, uuidv7(), 'task.created', 'task', task, ${owner.id},
      '2026-01-01'::timestamptz + n * interval '1 second', '{}', task
    from (select n, uuidv7() as task from generate_series(1, ${count}::int) n) t`
  await sql`update events set at = '2026-01-01' where project_id = ${projectId} and seq = 1`
  await sql`update streams set version = ${count + 1} where project_id = ${projectId}`
}

async function costOfPage(path: string, shown = limit) {
  const cost = await costOf(async () => {
    const { status, body } = await owner.get(path)
    expect([path, status, body.length]).toEqual([path, 200, shown])
  })
  expect(cost.scans).not.toContain('Seq Scan')
  expect(cost.sortedRows).toBe(0)
  return cost
}

const historyOf = ({ id }: Body, query: Record<string, string>) =>
  `/projects/${id}/history?${new URLSearchParams({ limit: String(limit), ...query })}`
const deep = (seq: number) => ({ cursor: writeCursor([String(seq)]) })

test("a page of a large project's history costs as much as in a small project", async () => {
  const queries: Record<string, string>[] = [
    {},
    { entity: 'task' },
    { type: 'task.created' },
    { actor: owner.id },
  ]
  for (const query of queries) {
    const inSmall = await costOfPage(historyOf(small, { ...query, ...deep(31) }))
    for (const place of [{}, deep(tasks / 2), deep(30)]) {
      const cost = await costOfPage(historyOf(large, { ...query, ...place }))
      expect(cost.rows).toBeLessThanOrEqual(inSmall.rows)
      // Indexes of a million rows are two or three levels deeper than those of forty.
      expect(cost.blocks).toBeLessThanOrEqual(inSmall.blocks * 2 + 10)
    }
  }
})

test('a history page with a start or end time finds that time by binary search', async () => {
  const middle = new Date(Date.UTC(2026, 0, 1) + (tasks / 2) * 1_000).toISOString()
  const cost = await costOfPage(historyOf(large, { from: middle }))
  expect(cost.rows).toBeLessThanOrEqual(100)
  const both = await costOfPage(
    historyOf(large, { to: middle, from: '2026-01-01T00:10:00Z', entity: 'task' }),
  )
  expect(both.rows).toBeLessThanOrEqual(150)
})

test('a filtered history page reads a bounded number of events', async () => {
  const cost = await costOfPage(historyOf(large, { entity: 'comment' }), 0)
  expect(cost.rows).toBeLessThanOrEqual(maxScannedEvents + 10)
})

test("a page of a task's history reads only the rows of the page, however long the history is", async () => {
  const busy = await make(owner, '/projects', { name: 'Busy' })
  const { id: taskId } = await make(owner, '/tasks', { title: 'Busy', projectId: busy.id })
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select ${busy.id}, n, uuidv7(), 'task.updated', 'task', ${taskId}, ${owner.id}, now(), '{}', ${taskId}
    from generate_series(3, 50000) n`
  await sql`vacuum analyze events`
  const [middle] = await sql<{ id: string }[]>`
    select id from events where project_id = ${busy.id} and seq = 25000`
  for (const place of ['', `&cursor=${writeCursor([middle!.id])}`]) {
    const cost = await costOfPage(`/tasks/${taskId}/history?limit=${limit}${place}`)
    expect(cost.rows).toBeLessThanOrEqual(limit + 20)
    expect(cost.blocks).toBeLessThanOrEqual(150)
  }
})

test('expiring events reads only the deleted events and one row of each project', async () => {
  const pace = { batchRows: 500, pauseMs: 0, isOver: () => true }
  const aSlice = () => expireEvents(sql, 1, pace).catch((error: unknown) => error)
  expect(await aSlice()).toBeInstanceOf(SliceEnded)
  const cost = await costOf(aSlice)
  expect(cost.rows).toBeLessThanOrEqual(3 * pace.batchRows)
  await costOfPage(historyOf(large, {}))
})
