import {
  expectError,
  expectUndone,
  faultsOf,
  make,
  makeTasks,
  openUndoScene,
  runBatch,
  upTo,
} from '../kit.ts'
import { versionOf } from '../kit.ts'

const scene = await openUndoScene()
const { ada, batch, sql, undo, version } = scene
beforeEach(async () => void (await scene.setUp()))
const patch = (id: string, fields: object) => ada.patch(`/tasks/${id}`, fields)
const long = (letter: string) => letter.repeat(20_000)

test.each([
  ['field', 50, (n: number) => ({ key: `k${n}`, name: 'N', type: 'number' })],
  ['view', 100, () => ({ name: 'V', query: {} })],
  ['label', 500, (n: number) => ({ name: `L${n}` })],
] as const)('a project has limits: %ss, at most %d, also in a batch', async (kind, max, rowOf) => {
  const path = `/projects/${scene.project.id}/${kind}s`
  const error = `A project has at most ${max} ${kind}s`
  const operations = upTo(max).map((n) => ({ op: `${kind}.create`, ...rowOf(n) }))
  const more = { op: `${kind}.create`, ...rowOf(max + 1) }
  if (max < 500) expectError(await batch([...operations, more]), 409, `operations[${max}]: ${error}`)
  const [first] = await runBatch(ada, scene.project.id, operations)
  expectError(await ada.post(path, rowOf(max + 1)), 409, error)
  await ada.delete(`/${kind}s/${first!.id}`)
  await make(ada, path, rowOf(max + 1))
  expectError(await undo({ seq: max + 3 }), 409, error)
})

test('a move that creates a label beyond the limit gets 409', async () => {
  const names = upTo(500).map((n) => ({ op: 'label.create', name: `L${n}` }))
  await runBatch(ada, scene.project.id, names)
  const { id: projectId } = await make(ada, '/projects', { name: 'From' })
  const [old, added] = await runBatch(ada, projectId, [
    { op: 'label.create', name: 'l7' },
    { op: 'label.create', name: 'New' },
  ])
  const { id } = await make(ada, '/tasks', { title: 'T', projectId, labelIds: [old!.id, added!.id] })
  const to = { projectId: scene.project.id }
  expectError(await patch(id, to), 409, 'A project has at most 500 labels')
  expect((await patch(id, { ...to, labelIds: [] })).body).toMatchObject({ ...to, labelIds: [] } as object)
})

test('a batch has 1 to 500 operations, and return=full returns up to 500,000 bytes', async () => {
  const { id: projectId } = scene.project
  const tasks = await makeTasks(ada, projectId, 500)
  expect([await version(), tasks.at(-1)!.number]).toEqual([502, 501])
  const updates = tasks.map(({ id }) => ({ op: 'task.update', id, was: { status: 'TODO' }, status: 'DONE' }))
  await runBatch(ada, projectId, updates)
  expect(await version()).toBe(1_002)
  const create = (n: number) => ({ op: 'task.create', title: `Long ${n}`, description: long('x') })
  expectError(await batch([...updates, {}]), 400, 'operations must be a list of 1 to 500 operations')
  const message = 'return=full returns at most 500000 bytes; send the batch without return=full'
  expectError(await batch(upTo(30).map(create), '?return=full'), 400, message)
  expect((await batch(upTo(30).map(create))).status).toBe(200)
})

test('an error names the shortest cycle of blockers, and at most 20 of its tasks', async () => {
  const operations = upTo(60).map((n) => ({
    ...{ op: 'task.create', as: `t${n}`, title: `T${n}` },
    ...(n > 1 && { blockedByIds: [`#t${n - 1}`] }),
  }))
  const short = { op: 'task.create', as: 's', title: 'S', blockedByIds: ['#t1'] }
  const ids = (await runBatch(ada, scene.project.id, [...operations, short])).map(({ id }) => id)
  const blocked = async (blockedByIds: unknown[]) => (await patch(ids[0]!, { blockedByIds })).body.message
  const shortest = '#2 is blocked by #62, which is blocked by #2'
  expect(await blocked(ids.slice(59))).toBe(`blockedByIds must not form a cycle: ${shortest}`)
  const message = await blocked([ids[59]])
  expect(message.split('which is blocked by')).toHaveLength(21)
  expect(message).toEndWith('#43, which is blocked by 40 more tasks, which is blocked by #2')
})

test('a task that blocks 500 tasks can move, and a task that blocks more gets 409', async () => {
  const blocked = { blockedByIds: [scene.task.id] }
  await makeTasks(ada, scene.project.id, 500, () => blocked)
  const { id } = await make(ada, '/tasks', { title: 'More', projectId: scene.project.id, ...blocked })
  const { id: projectId } = await make(ada, '/projects', { name: 'To' })
  const most = 'A task that blocks more than 500 tasks, or 4000000 characters in them, cannot move to another'
  expectError(await patch(scene.task.id, { projectId }), 409, `${most} project`)
  await patch(id, { blockedByIds: [] })
  const before = await version()
  expect((await patch(scene.task.id, { projectId })).status).toBe(200)
  expect([(await version()) - before, await versionOf(ada, projectId)]).toEqual([501, 2])
  expect(await faultsOf(sql)).toEqual([])
})

test('a task with more than 5,000 direct and indirect blockers gets 409', async () => {
  const { id: projectId } = scene.project
  await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id, blocked_by_ids)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${projectId}, n + 10, 'T', 'TODO', 'LOW', now(), now(),
      (select event_id from tasks where id = ${scene.task.id}),
      case when n > 1 then array[('00000000-0000-7000-8000-' || lpad((n - 1)::text, 12, '0'))::uuid] end
    from generate_series(1, 5001) n`
  const blockedBy = (n: number) => ({ blockedByIds: [`00000000-0000-7000-8000-${`${n}`.padStart(12, '0')}`] })
  const most = 'A task can be blocked by at most 5000 tasks, directly or through other tasks'
  const [tooMany, few] = await Promise.all([
    patch(scene.task.id, blockedBy(5_001)),
    ada.post('/tasks', { title: 'N', projectId, ...blockedBy(3) }),
  ])
  expectError(tooMany, 409, most)
  expect(few.status).toBe(201)
  expect((await patch(scene.task.id, blockedBy(5_000))).status).toBe(200)
  await ada.delete(`/projects/${projectId}`)
})

const tooLarge =
  /^The undo is too large: one undo takes back at most 500 events, 5000 rows and 4000000 characters/

test('rejects an undo of events with more than 4,000,000 characters in their texts, and accepts fewer', async () => {
  const update = (n: number) => ({ op: 'task.update', id: scene.task.id, description: long('ab'[n % 2]!) })
  for (const n of [1, 2, 3]) expect([n, (await batch(upTo(40).map(update))).status]).toEqual([n, 200])
  const seqs = upTo(120).map((n) => n + 2)
  expectError(await undo({ seqs }), 409, tooLarge)
  expectUndone(await undo({ seqs: seqs.slice(-90) }))
  expect((await ada.get(`/tasks/${scene.task.id}`)).body.description).toBe(long('a'))
})

test('rejects an undo of a deletion that would restore more than 5,000 rows, or 4,000,000 characters in them', async () => {
  const { project, task } = scene
  await scene.addChildren(task.id)
  await ada.delete(`/tasks/${task.id}`)
  // The events of children between the creation of the task and its deletion, all in the same millisecond.
  const add = (rows: number, text: string) => sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select project_id, n + 1000, (left(id::text, 24) || lpad(n::text, 12, '0'))::uuid, type, entity, child, actor_id, at,
      after || jsonb_build_object('id', child, 'text', ${text}::text), task_id
    from (select e.*, n, uuidv7() as child from events e, generate_series(1, ${rows}::int4) n
      where project_id = ${project.id} and seq = 4) e`
  const dryRun = () => undo({ seq: 5 }, ada, '?dryRun=true')
  for (const [rows, text] of [
    [5_000, 'C'],
    [300, long('x')],
  ] as const) {
    await add(rows, text)
    expectError(await dryRun(), 409, tooLarge)
    await sql`delete from events where project_id = ${project.id} and seq > 1000`
  }
  await add(4_990, 'C')
  expectUndone(await dryRun())
  await sql`delete from events where project_id = ${project.id} and seq < 3`
  expectError(await undo({ seq: 5 }), 410, 'Events before 3 are no longer kept')
  await ada.delete(`/projects/${project.id}`)
})

test('at most 100,000 matching tasks are counted', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Large' })
  const fill = async (count: number) => {
    await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select uuidv7(), ${projectId}, n + s.last_number, 'T', case when n % 4 = 0 then 'DONE' else 'TODO' end, 'LOW', now(), now(), uuidv7()
      from streams s, generate_series(1, ${count}::int) n where s.project_id = ${projectId}`
    await sql`update streams set version = version + ${count}, last_number = last_number + ${count},
      last_event_id = uuidv7() where project_id = ${projectId}`
  }
  type Counted = { isExact: boolean; total: number; counts: { count: number }[] }
  const counted = async (query: string) =>
    (await ada.get(`/tasks/counts?projectId=${projectId}&${query}`)).body as unknown as Counted
  await fill(100_000)
  expect(await counted('by=status')).toMatchObject({ total: 100_000, isExact: true })
  await fill(4)
  const { isExact, total, counts } = await counted('by=status')
  const sum = counts.reduce((all, { count }) => all + count, 0)
  expect([isExact, total, sum]).toEqual([false, 100_000, 100_000])
  expect(await counted('status=DONE')).toMatchObject({ total: 25_001, isExact: true })
  // No worker has filled the index of the search.
  expect(await counted('q=T')).toMatchObject({ isExact: false })
  expect(await counted(`by=labelId&asOf=${await versionOf(ada, projectId)}`)).toMatchObject({
    isExact: false,
  })
})
