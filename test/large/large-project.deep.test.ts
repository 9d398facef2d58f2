import { type Body, make, nextPath, register, workerActor, writeCursor } from '../kit.ts'
import { impliedKey } from '../../modules/order/keys.ts'
import { maxScannedTasks } from '../../modules/task-lists/list-rows.ts'
import { changeOften, openLarge } from './fill.ts'
import { type Cost, costOf, costOfGet } from './plans.ts'

const tasks = 1_000_000
const combinationsOfStatusAndPriority = 9

const { service, sql, owner, large, small } = await openLarge()

const sorts = ['createdAt', '-createdAt', 'dueDate', '-dueDate']
const filters: Record<string, string>[] = [
  {},
  { status: 'TODO' },
  { priority: 'HIGH' },
  { status: 'TODO', priority: 'HIGH' },
  { assigneeId: 'me' },
  { assigneeId: 'me', status: 'IN_PROGRESS' },
]
const ranges: Record<string, string>[] = [
  { dueBefore: '2027-06-01' },
  { dueAfter: '2026-06-01', dueBefore: '2027-06-01' },
]
const lists: Record<string, string>[] = [
  ...sorts.flatMap((sort) => filters.map((filter) => ({ sort, ...filter }))),
  ...['dueDate', '-dueDate'].flatMap((sort) => ranges.map((range) => ({ sort, ...range, status: 'DONE' }))),
  { sort: 'position' },
]

for (const list of lists) {
  test(`a page reads only the rows of the page: ${new URLSearchParams(list)}`, async () => {
    const [middle] = await service.services.database.reads<{ id: string; dueDate: string }[]>`
      select id, due_date from tasks where project_id = ${large.id} and number = ${tasks / 2}`
    const keys: Record<string, string[]> = {
      dueDate: [middle!.dueDate, middle!.id],
      createdAt: [middle!.id],
      position: [impliedKey(tasks / 2)],
    }
    const key = keys[list.sort!.replace('-', '')]!
    for (const page of [list, { ...list, cursor: writeCursor(key) }]) {
      const query = new URLSearchParams({ projectId: large.id, limit: '20', ...page })
      const cost = await costOfGet(owner, `/tasks?${query}`)
      expect(cost.scans).not.toContain('Seq Scan')
      expect(cost.taskRows).toBeGreaterThan(0)
      expect(cost.taskRows).toBeLessThanOrEqual(20 + 1 + combinationsOfStatusAndPriority)
      expect(cost.sortedRows).toBeLessThanOrEqual(20 + 1)
    }
  })
}

for (const sort of ['createdAt', '-createdAt']) {
  test(`a page sorted by ${sort} and filtered by due date reads a bounded number of rows`, async () => {
    // Several pages without results come before the tasks due on this day.
    const day = { dueAfter: '2026-06-01', dueBefore: '2026-06-02' }
    const reads = service.services.database.reads
    const inDay = await reads<{ id: string; number: number }[]>`
      select id, number from tasks where project_id = ${large.id} and due_date > ${day.dueAfter}::date
      and due_date < ${day.dueBefore}::date order by id`
    const start = sort === 'createdAt' ? inDay[0]!.number - 5_000 : inDay.at(-1)!.number + 5_000
    const [before] = await reads<{ id: string }[]>`
      select id from tasks where project_id = ${large.id} and number = ${start}`
    const shown: string[] = []
    let pages = 0
    // A newer task of another project must not come before the tasks that the page has not read yet.
    await make(owner, '/tasks', { title: 'Later', projectId: small.id, dueDate: '2026-06-01T12:00:00Z' })
    const first = new URLSearchParams({ limit: '200', sort, ...day, cursor: writeCursor([before!.id]) })
    for (let next: string | undefined = `/tasks?${first}`; next && shown.length < inDay.length; pages++) {
      const path = next
      const cost = await costOf(async () => {
        const { body, headers } = await owner.get(path)
        shown.push(...body.map(({ id }) => id))
        next = nextPath(headers)
      })
      expect(cost.scans).not.toContain('Seq Scan')
      expect(cost.taskRows).toBeLessThanOrEqual(2 * (maxScannedTasks + 10))
    }
    const ids = inDay.map(({ id }) => id)
    expect(shown).toEqual(sort === 'createdAt' ? ids : ids.reverse())
    expect(pages).toBeGreaterThanOrEqual(3)
  })
}

test('a page of tasks across many projects reads the first task of each project, and a page of tasks of few projects', async () => {
  const many = await register(service.client)
  const projects = 500
  await sql`
    with p as (insert into projects (id, owner_id, name, created_at, event_id)
      select uuidv7(), ${many.id}, 'One of many', now(), uuidv7() from generate_series(1, ${projects}::int) returning id)
    insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select uuidv7(), id, n, 'Task', 'TODO', 'LOW', now(), now(), uuidv7() from p, generate_series(1, 100) n`
  await sql`vacuum analyze tasks`
  for (const sort of sorts) {
    const cost = await costOf(() => many.get(`/tasks?limit=20&sort=${sort}`))
    expect(cost.scans).not.toContain('Seq Scan')
    expect(cost.taskRows).toBeLessThanOrEqual(
      projects * (1 + combinationsOfStatusAndPriority) +
        (20 + 1) * (20 + 1 + combinationsOfStatusAndPriority),
    )
  }
})

test('a page of any other list reads only the rows of the page, however many other rows exist', async () => {
  const task = await make(owner, '/tasks', { title: 'Talk', projectId: small.id })
  const busy = await make(owner, '/tasks', { title: 'Busy', projectId: small.id })
  await insertOtherRows(busy.id)
  const ofTask = [`/tasks/${task.id}/subtasks`, `/tasks/${task.id}/comments`]
  for (const path of ['/projects', `/projects/${small.id}/members`, ...ofTask]) {
    const cost = await costOfGet(owner, `${path}?limit=20`)
    expect(cost.scans).not.toContain('Seq Scan')
    expect(cost.rows).toBeGreaterThan(0)
    expect(cost.rows).toBeLessThanOrEqual(20)
  }
})

async function insertOtherRows(taskId: string): Promise<void> {
  await sql`with p as (insert into projects (id, owner_id, name, created_at, event_id)
      select uuidv7(), ${workerActor}, 'Theirs', now(), uuidv7() from generate_series(1, 20000) returning id)
    insert into members (id, project_id, user_id, role, created_at, event_id)
      select uuidv7(), id, gen_random_uuid(), 'VIEWER', now(), uuidv7() from p`
  await sql`insert into subtasks (id, task_id, title, completed, created_at, event_id)
    select uuidv7(), ${taskId}, 'Theirs', false, now(), uuidv7() from generate_series(1, 20000)`
  await sql`insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
    select uuidv7(), ${taskId}, ${owner.id}, 'Theirs', now(), now(), uuidv7() from generate_series(1, 20000)`
  await sql`vacuum analyze projects, members, subtasks, comments`
}

test('in a large project, creating, reading, changing and deleting a task costs as much as in a small project', async () => {
  const costs = async ({ id: projectId }: Body) => {
    await make(owner, '/tasks', { title: 'Warm', projectId })
    const all: Cost[] = []
    let task: Body
    all.push(await costOf(async () => (task = await make(owner, '/tasks', { title: 'New', projectId }))))
    all.push(await costOf(() => owner.get(`/tasks/${task.id}`)))
    all.push(await costOf(() => owner.patch(`/tasks/${task.id}`, { status: 'DONE', dueDate: '2026-05-05' })))
    all.push(await costOf(() => owner.delete(`/tasks/${task.id}`)))
    return all
  }
  const inLarge = await costs(large)
  for (const [i, cost] of (await costs(small)).entries()) {
    expect(inLarge[i]!.scans).not.toContain('Seq Scan')
    expect(inLarge[i]!.taskRows).toBe(cost.taskRows)
    // Indexes of a million rows are two or three levels deeper than those of ten.
    expect(inLarge[i]!.blocks).toBeLessThanOrEqual(cost.blocks * 2 + 10)
  }
})

test('in a large project, placing a task reads a limited number of tasks', async () => {
  const task = await make(owner, '/tasks', { title: 'Placed', projectId: large.id })
  const [middle] = await sql<{ id: string }[]>`
    select id from tasks where project_id = ${large.id} and number = ${tasks / 2}`
  const places = [{ place: 'first' }, { place: 'last' }, { before: middle!.id }, { after: middle!.id }]
  for (const place of places) {
    const cost = await costOf(() => owner.patch(`/tasks/${task.id}`, place))
    expect(cost.scans).not.toContain('Seq Scan')
    expect([place, cost.taskRows <= 60]).toEqual([place, true])
    expect([place, cost.blocks <= 600]).toEqual([place, true])
  }
})

const pathsThen = (projectId: string, taskId: string, version: number): string[] => {
  const ofTasks = lists.map((list) => `/tasks?${new URLSearchParams({ projectId, limit: '20', ...list })}&`)
  const others = [`/projects/${projectId}?`, `/projects/${projectId}/members?`]
  const ofTask = ['?', '/subtasks?', '/comments?'].map((of) => `/tasks/${taskId}${of}`)
  return [...ofTasks, ...others, ...ofTask].map((path) => `${path}asOf=${version}`)
}

test('in a large project, any read as of a thousand events ago costs as much as in a small project', async () => {
  const costs = async ({ id: projectId }: Body) => {
    const { version, taskId } = await changeOften(owner, projectId)
    const all: [path: string, cost: Cost][] = []
    for (const path of pathsThen(projectId, taskId, version)) all.push([path, await costOfGet(owner, path)])
    return all
  }
  const inLarge = await costs(large)
  for (const [i, [, cost]] of (await costs(small)).entries()) {
    const [path, { scans, rows, blocks }] = inLarge[i]!
    expect([path, scans]).toEqual([path, expect.not.arrayContaining(['Seq Scan'])])
    expect([path, rows <= cost.rows + 200, blocks <= cost.blocks * 2 + 50]).toEqual([path, true, true])
  }
})

test('deleting a project does not read its tasks', async () => {
  const cost = await costOf(() => owner.delete(`/projects/${large.id}`))
  expect(cost.taskRows).toBe(0)
})
