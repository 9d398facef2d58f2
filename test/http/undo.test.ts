import { changesOf, expectError, expectUndone, faultsOf, invite, make, openUndoScene } from '../kit.ts'
import { purgeTask, register, upTo, withToken } from '../kit.ts'
import type { Body, UndoResponse } from '../kit.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, undo, sql, version } = scene
beforeEach(async () => void ({ project, task } = await scene.setUp()))

const comment = (text = 'C', client = ada) => make(client, `/tasks/${task.id}/comments`, { text })
const comments = async () => (await ada.get(`/tasks/${task.id}/comments`)).body as unknown as Body[]
const subtask = (client = ada) => make(client, `/tasks/${task.id}/subtasks`, { title: 'S' })
const patch = (body: object) => ada.patch(`/tasks/${task.id}`, body)
const undone = async (body: object, client = ada) => changesOf(expectUndone(await undo(body, client)))
const expectConflict = async (body: object, message: string | RegExp) =>
  expectError(await undo(body), 409, message)
const needed = (role: string) => `This needs the role ${role} in the project`

// The numbers at the ends of lines are the seqs of the new events. The project and the task are events 1 and 2.

test('an undo restores the old values, and the feed shows the same changes as the response', async () => {
  await patch({ title: 'Other', status: 'DONE' }) // 3
  expectError(await undo({ seq: 3 }, ada, '', { 'if-match': '"other"' }), 412)
  const answer = expectUndone(await undo({ seq: 3 }))
  expect(answer).toMatchObject({
    version: 4,
    changes: [{ seq: 4, type: 'task.updated', undoes: 3, batch: null, entityId: task.id, taskId: task.id }],
  } as never)
  const { body } = await ada.get(`/tasks/${task.id}`)
  expect(body).toEqual({ ...task, updatedAt: body.updatedAt })
  expect((await ada.get(`/projects/${project.id}/events?after=3`)).body as unknown).toEqual(answer.changes)
})

test('a field that changed later rejects the undo with the later seqs; changes of other fields do not matter', async () => {
  await patch({ title: 'Second', status: 'DONE' }) // 3
  await patch({ priority: 'HIGH' }) // 4
  await patch({ title: 'Third' }) // 5
  await patch({ title: 'Fourth', description: 'D' }) // 6
  await expectConflict({ seq: 3 }, 'Seq 3 cannot be undone: title changed since by seq 5, 6')
  await expectConflict({ seqs: [3, 6] }, 'Seq 3 cannot be undone: title changed since by seq 5')
  expect(await version()).toBe(6)
  expect(await undone({ seqs: [3, 5, 6] })).toEqual([6, 5, 3].map((seq) => `task.updated ${seq}`))
  const before = { title: 'T', status: 'TODO', priority: 'HIGH', description: null }
  expect((await ada.get(`/tasks/${task.id}`)).body).toMatchObject(before)
  await expectConflict({ seq: 3 }, /: title, status changed since by seq 5, 6, 7, 8, 9$/)
})

test('one undo reverses a whole batch, and an undo of this undo restores the batch', async () => {
  const operations = [
    { op: 'task.create', as: 'new', title: 'New' },
    { op: 'subtask.create', taskId: '#new', title: 'Step' },
    { op: 'task.update', id: '#new', title: 'Newer', assigneeId: ada.id },
    { op: 'member.invite', email: bea.email, role: 'EDITOR', as: 'bea' },
    { op: 'task.update', id: task.id, assigneeId: bea.id },
    { op: 'task.delete', id: task.id },
  ]
  const state = async () => {
    const { body } = await ada.get(`/tasks?projectId=${project.id}`)
    const members = await ada.get(`/projects/${project.id}/members`)
    return [body.map(({ updatedAt: _, ...one }) => one), members.body]
  }
  const before = await state()
  await scene.batch(operations) // 3 to 8
  const after = await state()
  const dry = expectUndone(await undo({ batch: 3 }, ada, '?dryRun=true'))
  expect([dry.version, await version(), await state()]).toEqual([8, 8, after])
  const real = await undo({ batch: 3 })
  const plain = ({ changes }: UndoResponse) =>
    changes.map(({ seq, type, undoes, batch }) => [seq, type, undoes, batch])
  expect(plain(dry)).toEqual(plain(expectUndone(real)))
  expect([real.headers.get('docket-version'), await state()]).toEqual(['14', before])
  expect(expectUndone(real).changes.every(({ batch }) => batch === 9)).toBe(true)
  expect(changesOf(expectUndone(real))[0]).toBe('task.created 8')
  const again = expectUndone(await undo({ batch: 9 }))
  expect(await state()).toEqual(after)
  await undone({ batch: again.changes[0]!.batch })
  expect(await state()).toEqual(before)
  expect(await faultsOf(sql)).toEqual([])
})

test('a creation or restore of a task is undone only if its children did not change later', async () => {
  const { id } = await subtask() // 3
  await comment() // 4
  await expectConflict({ seq: 2 }, 'Seq 2 cannot be undone: task changed since by seq 3, 4')
  await ada.delete(`/tasks/${task.id}`) // 5
  await undone({ seq: 5 }) // 6 to 8
  expect(await undone({ seq: 6 })).toEqual(['task.deleted 6']) // 9
  await undone({ seq: 9 }) // 10 to 12
  await ada.patch(`/tasks/subtasks/${id}/toggle`) // 13
  await expectConflict({ seq: 10 }, /^Seq 10 cannot be undone: task changed since by seq 11, 12, 13$/)
  await undone({ seq: 13 }) // 14
  for (const body of [{ batch: 10 }, { seq: 2 }]) await expectConflict(body, /cannot be undone/)
  await undone({ seqs: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] })
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(404)
})

test('only the last deletion of a task can be undone, also together with the earlier ones', async () => {
  const purge = async () => {
    const jobs = await sql<{ data: { taskId: string; eventId: string } }[]>`
      select data from outbox where project_id = ${project.id} order by id`
    for (const { data } of jobs) await purgeTask(sql, data, { batchRows: 100, pauseMs: 0 })
  }
  await comment() // 3
  const before = await comments()
  await ada.delete(`/tasks/${task.id}`) // 4
  await undone({ seq: 4 }) // 5, 6
  await ada.delete(`/tasks/${task.id}`) // 7
  await purge()
  await undone({ seqs: [4, 5, 7] })
  await purge()
  expect(await comments()).toEqual(before)
  await subtask()
  await ada.delete(`/tasks/${task.id}`)
  const last = await version()
  await expectConflict({ seq: 4 }, /^Seq 4 cannot be undone: task changed since by seq 5, 6, 7, 8, /)
  await purge()
  const restored = ['task', 'subtask', 'comment'].map((entity) => `${entity}.created ${last}`)
  expect([await undone({ seq: last }), await comments()]).toEqual([restored, before])
  const other = await make(ada, '/projects', { name: 'Other' })
  await patch({ projectId: other.id })
  await ada.delete(`/tasks/${task.id}`)
  await expectConflict({ seq: last }, RegExp(`^Seq ${last} cannot be undone: task changed since by seq `))
  expect(await faultsOf(sql)).toEqual([])
})

test('rejects an unknown event, an invalid body or an impossible undo with a reason', async () => {
  const moved = 'A move between projects cannot be undone: move the task back'
  const other = await make(ada, '/projects', { name: 'Other' })
  await patch({ projectId: other.id }) // 3
  const exactlyOne = 'Send exactly one of seq, batch and seqs'
  const cases: [bodies: object[], status: number, message?: string | RegExp][] = [
    [[{}, { seq: 1, batch: 1 }, { seq: 1, seqs: [1] }], 400, exactlyOne],
    [[{ seq: 0 }, { seq: '2' }, { seq: 1.5 }, { seqs: [] }, { seqs: [1, 1] }, { seqs: ['1'] }], 400],
    [[{ seq: 99 }, { seqs: [2, 99] }], 404, 'Event 99 not found'],
    [[{ batch: 2 }], 404, 'Batch 2 not found'],
    [[{ seq: 1 }], 409, "A project's creation cannot be undone: delete the project"],
    [[{ seqs: [1, 2] }], 409, /^Seq 1: A project's creation/],
    [[{ seq: 3 }], 409, moved],
    [[{ seq: 2 }], 409, 'Seq 2 cannot be undone: task changed since by seq 3'],
  ]
  for (const [bodies, status, message] of cases)
    for (const body of bodies) expectError(await undo(body), status, message)
  expectError(await ada.post(`/projects/${other.id}/undo`, { seq: 2 }), 409, moved)
  await ada.delete(`/projects/${project.id}`)
  expectError(await undo({ seq: 4 }), 404, 'Project not found')
})

const tooLarge =
  /^The undo is too large: it would restore or delete more than 5000 rows, or 4000000 characters/

test('rejects an undo of events with more than 4,000,000 characters in their texts, and accepts fewer', async () => {
  const long = (letter: string) => letter.repeat(20_000)
  const update = (n: number) => ({ op: 'task.update', id: task.id, description: long('ab'[n % 2]!) })
  for (let from = 0; from < 110; from += 40)
    expect((await scene.batch(Array.from({ length: 40 }, (_, n) => update(n)))).status).toBe(200)
  const seqs = upTo(120).map((n) => n + 2)
  await expectConflict({ seqs }, tooLarge)
  await undone({ seqs: seqs.slice(-90) })
  expect((await ada.get(`/tasks/${task.id}`)).body.description).toBe(long('b'))
})

test('rejects an undo of a deletion that would restore more than 5,000 rows, or 4,000,000 characters in them', async () => {
  await scene.addChildren(task.id) // 3, 4
  await ada.delete(`/tasks/${task.id}`) // 5
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
    [300, 'x'.repeat(20_000)],
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

test('an undo assigns no task to a former member, and replaces no member by an earlier membership', async () => {
  const { id } = await invite(ada, project.id, bea) // 3
  for (const assigneeId of [bea.id, null]) await patch({ assigneeId }) // 4, 5
  await ada.delete(`/projects/${project.id}/members/${id}`) // 6
  await expectConflict({ seq: 5 }, 'The previous assignee is no longer a member of the project')
  await undone({ seqs: [5, 6] }) // 7, 8
  expect((await ada.get(`/tasks/${task.id}`)).body.assigneeId).toBe(bea.id)
  await patch({ assigneeId: null }) // 9
  await ada.delete(`/projects/${project.id}/members/${id}`) // 10
  await invite(ada, project.id, bea) // 11
  await expectConflict({ seqs: [10, 11] }, /undo the events one after another$/)
  for (const seq of [11, 10]) await undone({ seq })
  expect((await ada.get(`/projects/${project.id}/members`)).body).toMatchObject([{ id, userId: bea.id }])
  expect(await faultsOf(sql)).toEqual([])
})

test("undoing another member's deletion needs the role ADMIN and, with an API token, the scope admin", async () => {
  const { id: memberId } = await invite(ada, project.id, bea, 'EDITOR') // 3
  const setRole = (role: string) => ada.patch(`/projects/${project.id}/members/${memberId}/role`, { role })
  await ada.delete(`/tasks/subtasks/${(await subtask(bea)).id}`) // 4, 5
  await ada.delete(`/tasks/comments/${(await comment('Hers', bea)).id}`) // 6, 7
  await ada.delete(`/tasks/${task.id}`) // 8
  for (const seq of [5, 7, 8]) expectError(await undo({ seq }, bea), 403, needed('ADMIN'))
  expectError(await undo({ seqs: [7, 8] }, bea, '?dryRun=true'), 403, `Seq 8: ${needed('ADMIN')}`)
  await setRole('ADMIN') // 9
  const token = await withToken(bea, { scopes: ['write'] })
  expectError(await undo({ seq: 5 }, token), 403, 'This needs an API token with the scope admin')
  expectError(await undo({ seq: 5 }, await register(scene.client)), 404, 'Project not found')
  for (const seq of [8, 7, 5]) await undone({ seq }, bea) // 10 to 12
  await setRole('VIEWER') // 13
  const [own] = await comments()
  expect((await bea.delete(`/tasks/comments/${own!.id}`)).status).toBe(200) // 14
  expectError(await undo({ seq: 14 }, bea), 403, needed('EDITOR'))
  await setRole('EDITOR') // 15
  await undone({ seq: 14 }, bea) // 16
  await setRole('VIEWER') // 17
  await bea.patch(`/tasks/comments/${own!.id}`, { text: 'Second' }) // 18
  await undone({ seq: 18 }, bea)
  expect(await comments()).toEqual([{ ...own!, updatedAt: expect.any(String) as never }])
  expect(await faultsOf(sql)).toEqual([])
})
