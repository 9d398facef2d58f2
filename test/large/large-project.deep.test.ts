import { maxScannedEvents } from '../../modules/events/rows.ts'
import { impliedKey } from '../../modules/order/keys.ts'
import { expireEvents, invite, make, register, SliceEnded, unassignMember, upTo, versionOf } from '../kit.ts'
import { writeCursor } from '../kit.ts'
import { changeOften, fill } from './fill.ts'
import { type Cost, costOf, costOfGet, openExplained } from './plans.ts'

const sizes = { large: 200_000, small: 2_000 }
const { service, sql, owner } = await openExplained()

/**
 * A project with tasks and events, a task in the middle of the project, and a task with a thousand events after `version`.
 * `values` replace the names after a colon in the paths of reads.
 */
async function openSide(name: keyof typeof sizes) {
  const [{ id: projectId }, count] = [await make(owner, '/projects', { name }), sizes[name]]
  await fill(sql, projectId, count, owner.id)
  const [middle] = await sql<{ id: string; dueDate: string }[]>`
    select id, due_date from tasks where project_id = ${projectId} and number = ${count / 2}`
  const { id, dueDate } = middle!
  const task = await make(owner, '/tasks', { title: 'Placed', projectId })
  await make(owner, `/tasks/${task.id}/subtasks`, { title: 'S' })
  await make(owner, `/tasks/${task.id}/comments`, { text: 'C' })
  const { version, often } = await changeOften(owner, projectId)
  const keys = {
    id: [id],
    dueDate: [dueDate, id],
    position: [impliedKey(count / 2)],
    seq: [`${count - 100}`],
  }
  const cursors = Object.entries(keys).map(([sort, key]) => [sort, writeCursor(key)])
  const values = { project: projectId, often, version: String(version), ...Object.fromEntries(cursors) }
  return { projectId, count, middleId: id, task, values: values as Record<string, string> }
}
const [large, small] = [await openSide('large'), await openSide('small')]
type Side = typeof large
await sql`vacuum analyze tasks, events, streams`

const sorts = ['createdAt', '-createdAt', 'dueDate', '-dueDate']
const filters = ['', '&status=TODO', '&priority=HIGH', '&status=TODO&priority=HIGH', '&assigneeId=me']
const ranges = ['dueBefore=2027-06-01', 'dueAfter=2026-06-01&dueBefore=2027-06-01']
const lists = [
  ...sorts.flatMap((sort) =>
    [...filters, '&assigneeId=me&status=IN_PROGRESS'].map((one) => `sort=${sort}${one}`),
  ),
  ...['dueDate', '-dueDate'].flatMap((sort) => ranges.map((range) => `sort=${sort}&${range}&status=DONE`)),
  'sort=position',
]
const first = [
  ...['/tasks/:often?', '/tasks/:often/subtasks?limit=20&', '/tasks/:often/comments?limit=20&'],
  ...[
    '/projects/:project/members?limit=20&',
    ...lists.map((list) => `/tasks?projectId=:project&limit=20&${list}&`),
  ],
]
const history = '/projects/:project/history?limit=20'
/** Each read reads only the rows of a page. */
const reads = [
  ...[...first, ...first.map((path) => `${path}asOf=:version`)],
  ...lists.map((list) => {
    const cursor = /position|dueDate/.exec(list)?.[0] ?? 'id'
    return `/tasks?projectId=:project&limit=20&${list}&cursor=:${cursor}`
  }),
  ...['', '&entity=task', '&type=task.created', `&actor=${owner.id}`].flatMap((query) =>
    ['', '&cursor=:seq'].map((cursor) => history + query + cursor),
  ),
]
const read = async (path: string, { values }: Side) => {
  const filled = path.replace(/:(\w+)/g, (_, name) => values[name]!).replace(/[?&]$/, '')
  expect(await owner.get(filled)).toMatchObject({ status: 200 })
}

const writes: Record<string, (side: Side) => Promise<unknown>> = {
  create: ({ projectId }) => make(owner, '/tasks', { title: 'New', projectId }),
  change: ({ task }) => owner.patch(`/tasks/${task.id}`, { status: 'DONE', dueDate: '2026-05-05' }),
  ...Object.fromEntries(
    ['first', 'last'].map((place) => [
      `place ${place}`,
      ({ task }: Side) => owner.patch(`/tasks/${task.id}`, { place }),
    ]),
  ),
  'place before': ({ task, middleId: before }) => owner.patch(`/tasks/${task.id}`, { before }),
  'place after': ({ task, middleId: after }) => owner.patch(`/tasks/${task.id}`, { after }),
  'a rejected undo': async ({ projectId, task }) => {
    for (const title of ['One', 'Two']) await owner.patch(`/tasks/${task.id}`, { title })
    const seq = (await versionOf(owner, projectId)) - 1
    expect(await owner.post(`/projects/${projectId}/undo`, { seq })).toMatchObject({ status: 409 })
  },
}

/** Undoes the last change, and undoes the undo. */
async function undoAndRedo({ projectId }: Side): Promise<void> {
  for (const _ of ['undo', 'redo']) {
    const before = await versionOf(owner, projectId)
    const [{ batch }] = await sql<[{ batch: number | null }]>`
      select batch::float8 as batch from events where project_id = ${projectId} and seq = ${before}`
    const body = batch === null ? { seq: before } : { batch }
    expect((await owner.post(`/projects/${projectId}/undo`, body)).status).toBe(200)
  }
}
for (const [name, write] of Object.entries(writes).slice(0, 3))
  writes[`undo and redo: ${name}`] = async (side) => {
    await write(side)
    await undoAndRedo(side)
  }
writes.delete = async ({ task }) => owner.delete(`/tasks/${task.id}`)
writes['undo and redo: delete'] = undoAndRedo

/** A fault that reads the rows of a whole project reads 200,000 more rows. */
function expectSimilar(cost: Cost, inSmall: Cost, hasRange = false) {
  expect(cost.scans).not.toContain('Seq Scan')
  expect(cost.rows).toBeLessThanOrEqual(inSmall.rows + 200)
  expect(cost.sortedRows).toBeLessThanOrEqual(inSmall.sortedRows + 21)
  // Indexes of 200,000 rows are a level or two deeper than those of a thousand.
  if (!hasRange) expect(cost.blocks).toBeLessThanOrEqual(inSmall.blocks * 2 + 200)
}

const operations: [string, (side: Side) => Promise<unknown>][] = [
  ...reads.map((path): (typeof operations)[number] => [path, (side) => read(path, side)]),
  ...Object.entries(writes),
]
test.each(operations)(
  'in a large project, an operation costs as much as in a small one: %s',
  async (name, operation) => {
    const [inSmall, inLarge] = [await costOf(() => operation(small)), await costOf(() => operation(large))]
    expectSimilar(inLarge, inSmall, /due(Before|After).*cursor/.test(name))
  },
)

test('the undo of a removal of a member costs as much as in a small project', async () => {
  const costs: Cost[] = []
  for (const { projectId } of [small, large]) {
    const bea = await register(service.client)
    const member = await invite(owner, projectId, bea)
    const { id } = await make(owner, '/tasks', { title: 'Hers', projectId, assigneeId: bea.id })
    await owner.delete(`/projects/${projectId}/members/${member.id}`)
    const seq = await versionOf(owner, projectId)
    await unassignMember(
      sql,
      service.services.run,
      { projectId, userId: bea.id },
      { batchRows: 9, pauseMs: 0 },
    )
    costs.push(await costOf(() => owner.post(`/projects/${projectId}/undo`, { seq })))
    expect((await owner.get(`/tasks/${id}`)).body.assigneeId).toBe(bea.id)
  }
  expectSimilar(costs[1]!, costs[0]!)
})

test('a history page finds a time by binary search, and reads a bounded number of other events', async () => {
  const [at] = await sql<{ at: string }[]>`
    select at from events where project_id = ${large.projectId} and seq = ${large.count - 1_000}`
  const cost = await costOfGet(
    owner,
    `/projects/${large.projectId}/history?limit=20&from=${at!.at}&entity=task`,
  )
  expect(cost.rows).toBeLessThanOrEqual(150)
  const filtered = await costOfGet(owner, `/projects/${large.projectId}/history?limit=20&entity=comment`)
  expect(filtered.rows).toBeLessThanOrEqual(maxScannedEvents + 50)
})

test("a page of a task's history reads only the rows of the page, however long the history is", async () => {
  const { id: projectId } = await make(owner, '/projects', { name: 'Busy' })
  const { id: taskId } = await make(owner, '/tasks', { title: 'Busy', projectId })
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select ${projectId}, n, uuidv7(), 'task.updated', 'task', ${taskId}, ${owner.id}, now(), '{}', ${taskId}
    from generate_series(3, 50000) n`
  await sql`vacuum analyze events`
  const [middle] = await sql<{ id: string }[]>`
    select id from events where project_id = ${projectId} and seq = 25000`
  for (const place of ['', `&cursor=${writeCursor([middle!.id])}`]) {
    const cost = await costOfGet(owner, `/tasks/${taskId}/history?limit=20${place}`)
    expect(cost.rows).toBeLessThanOrEqual(20 + 20)
    expect(cost.blocks).toBeLessThanOrEqual(150)
  }
})

const many = { ...(await register(service.client)), projects: 1_000 }
await sql`with p as (insert into projects (id, owner_id, name, created_at, event_id)
    select uuidv7(), ${many.id}, 'One of many', now(), uuidv7() from generate_series(1, ${many.projects}::int) returning id),
  s as (insert into streams (project_id, version, last_number, last_event_id) select id, 20, 100, uuidv7() from p),
  e as (insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at)
    select id, n, uuidv7(), 'task.created', 'task', uuidv7(), ${many.id}, now() from p, generate_series(1, 20) n)
  insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
    select uuidv7(), id, n, 'Task', 'TODO', 'LOW', now(), now(), uuidv7() from p, generate_series(1, 100) n`
await sql`vacuum analyze tasks, events, streams, projects`

test.each(sorts)(
  'a page of tasks across many projects, by %s, reads a page of few projects',
  async (sort) => {
    const cost = await costOf(() => many.get(`/tasks?limit=20&sort=${sort}`))
    expect(cost.scans).not.toContain('Seq Scan')
    // The first task of each status and priority of each project, and a page of tasks of few projects.
    expect(cost.taskRows).toBeLessThanOrEqual(many.projects * 10 + 21 * 30)
  },
)

const feedsFrom = async (seq: number) => {
  const rows = await sql<{ id: string }[]>`select id from projects where owner_id = ${many.id}`
  return Object.fromEntries(rows.map(({ id }) => [id, seq]))
}

test.each([
  [100, 0],
  [500, 5],
  [500, 20],
])(
  'a read of %d events of many feeds after seq %d reads one more event of each project',
  async (limit, seq) => {
    const after = await feedsFrom(seq)
    const cost = await costOf(async () => {
      const { status, body } = await many.post('/events/read', {
        after,
        limit,
        ...(seq === 20 && { wait: 1 }),
      })
      const { events } = body as unknown as { events: unknown[] }
      expect([status, events.length]).toEqual([200, seq === 20 ? 0 : limit])
    })
    expect(cost.scans).not.toContain('Seq Scan')
    // For each project: the project, its version and one event, each with some index pages and one table page.
    expect(cost.rows).toBeLessThanOrEqual(4 * many.projects + limit)
    expect(cost.blocks).toBeLessThan(16 * many.projects)
    expect(cost.sortedRows).toBeLessThanOrEqual(many.projects)
  },
)

test('a new stream of all projects reads each project once', async () => {
  let text = ''
  const cost = await costOf(async () => {
    const { body } = await service.fetch('/api/v1/events', {
      headers: { authorization: `Bearer ${many.token}` },
    })
    const reader = body!.getReader()
    while (!text.includes('data:')) text += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
  })
  expect(text.match(/data: /g)).toHaveLength(many.projects)
  expect(cost.scans).not.toContain('Seq Scan')
  expect(cost.rows).toBeWithin(many.projects, 3 * many.projects + 1)
})

test('64 workers claim different tasks, and each claim reads only the first rows of the queue', async () => {
  const ready = large.count / 10
  await sql`update tasks set status = 'TODO' where project_id = ${large.projectId} and number % 10 = 0`
  await sql`vacuum analyze tasks`
  const claimNext = (body: object) => owner.post(`/projects/${large.projectId}/claim-next`, body)
  const taken: string[] = []
  const take = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const { status, body } = await claimNext({ leaseSeconds: 3_600 })
      expect(status).toBe(200)
      taken.push(body.id)
    }
  }
  await take(5)
  const cost = await costOf(() => Promise.all(upTo(64).map(() => take(10))))
  expect(new Set(taken).size).toBe(5 + 10 * 64)
  expect(cost.scans).not.toContain('Seq Scan')
  // The first rows of three priorities, the rows that the batch loads, and the written row.
  expect(cost.taskRows).toBeLessThanOrEqual(10 * 64 * 100)
  await invite(owner, large.projectId, many, 'EDITOR')
  // Concurrent requests whose filter fits no task share one scan of the queue.
  const filter = { leaseSeconds: 60, assigneeId: many.id }
  const scan = await costOf(async () => {
    const answers = await Promise.all(upTo(64).map(() => claimNext(filter)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
  })
  expect(scan.taskRows).toBeLessThanOrEqual(8 * ready)
})

test('a page of a list reads only its rows, however many rows of other parents the table has', async () => {
  const busy = await make(owner, '/tasks', { title: 'Busy', projectId: small.projectId })
  await sql`insert into members (id, project_id, user_id, role, created_at, event_id)
    select uuidv7(), uuidv7(), gen_random_uuid(), 'VIEWER', now(), uuidv7() from generate_series(1, 20000)`
  await sql`insert into subtasks (id, task_id, title, completed, created_at, event_id)
    select uuidv7(), ${busy.id}, 'Theirs', false, now(), uuidv7() from generate_series(1, 20000)`
  await sql`insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
    select uuidv7(), ${busy.id}, ${owner.id}, 'Theirs', now(), now(), uuidv7() from generate_series(1, 20000)`
  await sql`vacuum analyze members, subtasks, comments`
  const { id } = await make(owner, '/tasks', { title: 'Talk', projectId: small.projectId })
  const children = ['subtasks', 'comments'].map((name) => `/tasks/${id}/${name}`)
  for (const path of ['/projects', `/projects/${small.projectId}/members`, ...children]) {
    const cost = await costOfGet(owner, `${path}?limit=20`)
    expect(cost.scans).not.toContain('Seq Scan')
    expect(cost.rows).toBeLessThanOrEqual(20)
  }
})

test('expiring events reads only the deleted events and one row of each project', async () => {
  await sql`update events set at = '2026-01-01' where project_id = ${large.projectId}`
  await sql`vacuum analyze events`
  const pace = { batchRows: 500, pauseMs: 0, isOver: () => true }
  const aSlice = () => expireEvents(sql, 1, pace).catch((error: unknown) => error)
  expect(await aSlice()).toBeInstanceOf(SliceEnded)
  const cost = await costOf(aSlice)
  expect(cost.rows).toBeLessThanOrEqual(3 * pace.batchRows + 2 * many.projects)
})

test('deleting a project does not read its tasks', async () => {
  const cost = await costOf(() => owner.delete(`/projects/${large.projectId}`))
  expect(cost.taskRows).toBe(0)
})
