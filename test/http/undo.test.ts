import { changesOf, expectError, expectUndone, faultsOf, invite, make, openUndoScene } from '../kit.ts'
import { purgeTask, register, upTo, withToken } from '../kit.ts'
import type { Body, UndoResponse } from '../kit.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, undo, sql } = scene

describe('undo', () => {
  beforeEach(async () => void ({ project, task } = await scene.setUp()))

  test('an undo restores the old values, and the feed shows the same changes as the response', async () => {
    await ada.patch(`/tasks/${task.id}`, { title: 'Other', status: 'DONE' })
    expectError(await undo({ seq: 3 }, ada, '', { 'if-match': '"other"' }), 412)
    const undone = expectUndone(await undo({ seq: 3 }))
    expect(undone).toMatchObject({
      version: 4,
      changes: [{ seq: 4, type: 'task.updated', undoes: 3, batch: null, entityId: task.id, taskId: task.id }],
    } as never)
    const { body } = await ada.get(`/tasks/${task.id}`)
    expect(body).toEqual({ ...task, updatedAt: body.updatedAt })
    const feed = await ada.get(`/projects/${project.id}/events?after=3`)
    expect(feed.body as unknown).toEqual(undone.changes)
  })

  test('undoing a deletion restores a task with its subtasks and comments, whether or not workers have purged their rows', async () => {
    const step = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
    await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
    await ada.patch(`/tasks/subtasks/${step.id}/toggle`)
    const deleted = await make(ada, `/tasks/${task.id}/comments`, { text: 'Deleted' })
    await ada.delete(`/tasks/comments/${deleted.id}`)
    const paths = ['', '/subtasks', '/comments']
    const texts = () =>
      Promise.all(paths.map(async (path) => (await ada.get(`/tasks/${task.id}${path}`)).text))
    const before = await texts()
    for (const isPurged of [false, true]) {
      await ada.delete(`/tasks/${task.id}`)
      const seq = await scene.version()
      for (const table of isPurged ? ['subtasks', 'comments'] : [])
        await scene.sql`delete from ${scene.sql(table)} where task_id = ${task.id}`
      const undone = changesOf(expectUndone(await undo({ seq })))
      expect(undone).toEqual([`task.created ${seq}`, `subtask.created ${seq}`, `comment.created ${seq}`])
      expect(await texts()).toEqual(before)
    }
    expect((await make(ada, '/tasks', { title: 'Next', projectId: project.id })).number).toBe(2)
    expect(await faultsOf(scene.sql)).toEqual([])
  })

  test('rejects an undo of a field that changed later, and lists the later seqs; changes of other fields do not matter', async () => {
    const patch = (body: object) => ada.patch(`/tasks/${task.id}`, body)
    await patch({ title: 'Second', status: 'DONE' }) // 3
    await patch({ priority: 'HIGH' }) // 4
    await patch({ title: 'Third' }) // 5
    await patch({ title: 'Fourth', description: 'D' }) // 6
    expectError(await undo({ seq: 3 }), 409, 'Seq 3 cannot be undone: title changed since by seq 5, 6')
    expectError(await undo({ seqs: [3, 6] }), 409, 'Seq 3 cannot be undone: title changed since by seq 5')
    expect(await scene.version()).toBe(6)
    const changes = changesOf(expectUndone(await undo({ seqs: [3, 5, 6] })))
    expect(changes).toEqual([6, 5, 3].map((seq) => `task.updated ${seq}`))
    const before = { title: 'T', status: 'TODO', priority: 'HIGH', description: null }
    expect((await ada.get(`/tasks/${task.id}`)).body).toMatchObject(before)
    expectError(await undo({ seq: 3 }), 409, /: title, status changed since by seq 5, 6, 7, 8, 9$/)
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
    await scene.batch(operations)
    const after = await state()
    const undone = expectUndone(await undo({ batch: 3 }))
    expect(await state()).toEqual(before)
    expect(undone.changes.every(({ batch }) => batch === 9)).toBe(true)
    expect(changesOf(undone)[0]).toBe('task.created 8')
    const again = expectUndone(await undo({ batch: 9 }))
    expect(await state()).toEqual(after)
    expect(await faultsOf(scene.sql)).toEqual([])
    expectUndone(await undo({ batch: again.changes[0]!.batch! }))
    expect(await state()).toEqual(before)
  })

  test("undoing a task's restore deletes the task and its subtasks, unless a subtask changed later", async () => {
    const step = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
    await ada.delete(`/tasks/${task.id}`) // 4
    expectUndone(await undo({ seq: 4 })) // 5, 6
    expect(changesOf(expectUndone(await undo({ seq: 5 })))).toEqual(['task.deleted 5']) // 7
    expectUndone(await undo({ seq: 7 })) // 8, 9
    await ada.patch(`/tasks/subtasks/${step.id}/toggle`) // 10
    expectError(await undo({ seq: 8 }), 409, /^Seq 8 cannot be undone: task changed since by seq 9, 10$/)
    expectUndone(await undo({ seq: 10 })) // 11
    for (const body of [{ batch: 8 }, { seq: 2 }]) expectError(await undo(body), 409)
  })

  test("rejects an undo of a task's creation while the task has subtasks or comments", async () => {
    await scene.addChildren(task.id)
    expectError(await undo({ seq: 2 }), 409, 'Seq 2 cannot be undone: task changed since by seq 3, 4')
    expectUndone(await undo({ seqs: [2, 3, 4] }))
    expect((await ada.get(`/tasks/${task.id}`)).status).toBe(404)
    expectUndone(await undo({ seqs: [7] }))
    expect((await ada.get(`/tasks/${task.id}/comments`)).body).toEqual([] as never)
  })

  test('a dry run returns the changes of the undo without writing them', async () => {
    await scene.addChildren(task.id)
    await ada.delete(`/tasks/${task.id}`)
    const dry = expectUndone(await undo({ seq: 5 }, ada, '?dryRun=true'))
    expect([dry.version, await scene.version()]).toEqual([5, 5])
    const real = await undo({ seq: 5 })
    expect(real.headers.get('docket-version')).toBe('8')
    const plain = ({ changes }: UndoResponse) =>
      changes.map(({ seq, type, undoes, batch }) => [seq, type, undoes, batch])
    expect(plain(dry)).toEqual(plain(expectUndone(real)))
  })

  test('rejects an unknown event, an invalid body or an impossible undo with a reason', async () => {
    const expectAll = async (bodies: object[], status: number, message?: string | RegExp) => {
      for (const body of bodies) expectError(await undo(body), status, message)
    }
    const exactlyOne = 'Send exactly one of seq, batch and seqs'
    await expectAll([{}, { seq: 1, batch: 1 }, { seq: 1, seqs: [1] }], 400, exactlyOne)
    await expectAll([{ seq: 0 }, { seq: '2' }, { seq: 1.5 }], 400)
    await expectAll([{ seqs: [] }, { seqs: [1, 1] }, { seqs: ['1'] }], 400)
    await expectAll([{ seq: 99 }, { seqs: [2, 99] }], 404, 'Event 99 not found')
    await expectAll([{ batch: 2 }], 404, 'Batch 2 not found')
    await expectAll([{ seq: 1 }], 409, "A project's creation cannot be undone: delete the project")
    await expectAll([{ seqs: [1, 2] }], 409, /^Seq 1: A project's creation/)
    const other = await make(ada, '/projects', { name: 'Other' })
    await ada.patch(`/tasks/${task.id}`, { projectId: other.id })
    const moved = 'A move between projects cannot be undone: move the task back'
    await expectAll([{ seq: 3 }], 409, moved)
    expectError(await ada.post(`/projects/${other.id}/undo`, { seq: 2 }), 409, moved)
    await expectAll([{ seq: 2 }], 409, 'Seq 2 cannot be undone: task changed since by seq 3')
    await ada.delete(`/projects/${project.id}`)
    await expectAll([{ seq: 4 }], 404, 'Project not found')
  })

  test('rejects an undo of events with more than 4,000,000 characters in their texts, and accepts fewer', async () => {
    const long = (letter: string) => letter.repeat(20_000)
    const update = (n: number) => ({ op: 'task.update', id: task.id, description: long('ab'[n % 2]!) })
    for (let from = 0; from < 110; from += 40)
      expect((await scene.batch(Array.from({ length: 40 }, (_, n) => update(n)))).status).toBe(200)
    const seqs = upTo(120).map((n) => n + 2)
    const message =
      /^The undo is too large: it would restore or delete more than 5000 rows, or 4000000 characters/
    expectError(await undo({ seqs }), 409, message)
    expectUndone(await undo({ seqs: seqs.slice(-90) }))
    expect((await ada.get(`/tasks/${task.id}`)).body.description).toBe(long('b'))
  })

  test('rejects an undo of a deletion that would restore more than 5,000 rows, or 4,000,000 characters in them', async () => {
    await scene.addChildren(task.id) // 3, 4
    await ada.delete(`/tasks/${task.id}`) // 5
    // The events of children between the creation of the task and its deletion, all in the same millisecond.
    const add = (rows: number, text: string) => scene.sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select project_id, n + 1000, (left(id::text, 24) || lpad(n::text, 12, '0'))::uuid, type, entity, child, actor_id, at,
      after || jsonb_build_object('id', child, 'text', ${text}::text), task_id
    from (select e.*, n, uuidv7() as child from events e, generate_series(1, ${rows}::int4) n
      where project_id = ${project.id} and seq = 4) e`
    const tooLarge = /^The undo is too large/
    for (const [rows, text] of [
      [5_000, 'C'],
      [300, 'x'.repeat(20_000)],
    ] as const) {
      await add(rows, text)
      expectError(await undo({ seq: 5 }, ada, '?dryRun=true'), 409, tooLarge)
      await scene.sql`delete from events where project_id = ${project.id} and seq > 1000`
    }
    await add(4_990, 'C')
    expectUndone(await undo({ seq: 5 }, ada, '?dryRun=true'))
    await scene.sql`delete from events where project_id = ${project.id} and seq < 3`
    expectError(await undo({ seq: 5 }), 410, 'Events before 3 are no longer kept')
    await ada.delete(`/projects/${project.id}`)
  })

  test('rejects an undo that would assign a task to a former member', async () => {
    const { id } = await invite(ada, project.id, bea) // 3
    await ada.patch(`/tasks/${task.id}`, { assigneeId: bea.id }) // 4
    await ada.patch(`/tasks/${task.id}`, { assigneeId: null }) // 5
    await ada.delete(`/projects/${project.id}/members/${id}`) // 6
    expectError(await undo({ seq: 5 }), 409, 'The previous assignee is no longer a member of the project')
    expectUndone(await undo({ seqs: [5, 6] }))
    expect((await ada.get(`/tasks/${task.id}`)).body.assigneeId).toBe(bea.id)
  })

  test('rejects an undo that would replace a member by an earlier membership of the same user', async () => {
    const { id } = await invite(ada, project.id, bea) // 3
    await ada.delete(`/projects/${project.id}/members/${id}`) // 4
    await invite(ada, project.id, bea) // 5
    expectError(await undo({ seqs: [4, 5] }), 409, /undo the events one after another$/)
    for (const seq of [5, 4]) expectUndone(await undo({ seq }))
    expect((await ada.get(`/projects/${project.id}/members`)).body).toMatchObject([{ id, userId: bea.id }])
    expect(await faultsOf(scene.sql)).toEqual([])
  })
})

const comment = (text = 'C', client = ada) => make(client, `/tasks/${task.id}/comments`, { text })
const comments = async () => (await ada.get(`/tasks/${task.id}/comments`)).body as unknown as Body[]
const undone = async (body: object, client = ada) => changesOf(expectUndone(await undo(body, client)))
const expectConflict = async (body: object, message: string | RegExp) =>
  expectError(await undo(body), 409, message)

async function purgeTasks() {
  const jobs = await sql<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where project_id = ${project.id} order by id`
  for (const { data } of jobs) await purgeTask(sql, data, { batchRows: 100, pauseMs: 0 })
}

async function inviteEditor() {
  const { id } = await invite(ada, project.id, bea, 'EDITOR')
  return (role: string) => ada.patch(`/projects/${project.id}/members/${id}/role`, { role })
}
const needed = (role: string) => `This needs the role ${role} in the project`

describe('repeated undo', () => {
  beforeEach(async () => void ({ project, task } = await scene.setUp()))

  // The numbers at the ends of lines are the seqs of the new events.

  test('only the last deletion of a task can be undone, and restores its last state', async () => {
    const add = (title: string) => make(ada, `/tasks/${task.id}/subtasks`, { title })
    await add('S') // 3
    await ada.delete(`/tasks/${task.id}`) // 4
    await undone({ seq: 4 }) // 5, 6
    await add('S2') // 7
    await ada.delete(`/tasks/${task.id}`) // 8
    await expectConflict({ seq: 4 }, 'Seq 4 cannot be undone: task changed since by seq 5, 6, 7, 8')
    const changes = await undone({ seq: 8 }) // 9, 10, 11
    expect(changes).toEqual(['task.created 8', 'subtask.created 8', 'subtask.created 8'])
    const { body } = await ada.get(`/tasks/${task.id}/subtasks`)
    expect((body as unknown as Body[]).map(({ title }) => title)).toEqual(['S', 'S2'])
    const other = await make(ada, '/projects', { name: 'Other' })
    await ada.patch(`/tasks/${task.id}`, { projectId: other.id }) // 12
    await ada.delete(`/tasks/${task.id}`)
    await expectConflict({ seq: 8 }, 'Seq 8 cannot be undone: task changed since by seq 9, 10, 11, 12')
    expect(await faultsOf(sql)).toEqual([])
  })

  test.each([
    ['comment', 'comment.created', () => comment(), { text: 'Later' }],
    ['member', 'member.invited', () => invite(ada, project.id, bea, 'ADMIN'), { role: 'VIEWER' }],
  ] as const)(
    'only the last deletion of a %s can be undone, and restores its last state',
    async (entity, type, create, change) => {
      const { id } = await create() // 3
      const isComment = entity === 'comment'
      const path = isComment ? '/tasks/comments' : `/projects/${project.id}/members`
      await ada.delete(`${path}/${id}`) // 4
      await undone({ seq: 4 }) // 5
      await ada.patch(`${path}/${id}${isComment ? '' : '/role'}`, change) // 6
      await ada.delete(`${path}/${id}`) // 7
      await expectConflict({ seq: 4 }, `Seq 4 cannot be undone: ${entity} changed since by seq 5, 6, 7`)
      expect(await undone({ seq: 7 })).toEqual([`${type} 7`])
      const { body } = await ada.get(isComment ? `/tasks/${task.id}/comments` : path)
      expect(body).toMatchObject([{ id, ...change }])
    },
  )

  test('one undo of three events (a deletion, its undo and a second deletion) restores the task', async () => {
    await ada.delete(`/tasks/${task.id}`) // 3
    await undone({ seq: 3 }) // 4
    await ada.delete(`/tasks/${task.id}`) // 5
    const changes = await undone({ seqs: [3, 4, 5] })
    expect(changes).toEqual(['task.created 5', 'task.deleted 4', 'task.created 3'])
    expect((await ada.get(`/tasks/${task.id}`)).body).toEqual(task)
    expect(await faultsOf(sql)).toEqual([])
  })

  describe.each([
    ['before', async () => {}],
    ['after', purgeTasks],
  ] as const)('%s the rows of a deleted task are purged', (_, prepare) => {
    test('one undo of three events (a deletion, its undo and a second deletion) restores the comments once', async () => {
      await scene.addChildren(task.id) // 3, 4
      const before = await comments()
      await ada.delete(`/tasks/${task.id}`) // 5
      await undone({ seq: 5 }) // 6, 7, 8
      await ada.delete(`/tasks/${task.id}`) // 9
      await prepare()
      await undone({ seqs: [5, 6, 9] })
      await purgeTasks()
      expect(await comments()).toEqual(before)
      expect(await faultsOf(sql)).toEqual([])
    })

    test('rejects an undo of the restore of a task if its comment was restored later, so that no comment is lost', async () => {
      const one = await comment() // 3
      await ada.delete(`/tasks/comments/${one.id}`) // 4
      await ada.delete(`/tasks/${task.id}`) // 5
      await undone({ seqs: [4, 5] }) // 6, 7
      for (const path of [`/tasks/${task.id}`, `/tasks/comments/${one.id}`]) {
        await ada.delete(path) // 8, 10
        await prepare()
        const last = await scene.version()
        await expectConflict({ seqs: [5, 6, last] }, /^Seq 6 cannot be undone: task changed since by seq 7/)
        await undone({ seq: last }) // 9, 11
        await purgeTasks()
        expect(await comments()).toEqual([one])
      }
      expect(await faultsOf(sql)).toEqual([])
    })
  })

  test('one undo may reverse the restores of a task and its comment together, but not the restore of the task alone', async () => {
    const one = await comment() // 3
    await ada.delete(`/tasks/${task.id}`) // 4
    await undone({ seq: 4 }) // 5, 6
    const types = ['comment.deleted 6', 'task.deleted 5', 'task.created 4', 'comment.created 4']
    expect(await undone({ seqs: [3, 4, 5, 6] })).toEqual([...types, 'comment.deleted 3']) // 7 to 11
    await expectConflict({ seqs: [8, 9, 11] }, 'Seq 9 cannot be undone: task changed since by seq 10')
    await undone({ batch: 7 })
    await purgeTasks()
    expect(await comments()).toEqual([one])
    expect(await faultsOf(sql)).toEqual([])
  })

  test("undoing another member's deletion needs the role ADMIN and, with an API token, the scope admin", async () => {
    const setRole = await inviteEditor()
    const step = await make(bea, `/tasks/${task.id}/subtasks`, { title: 'S' }) // 4
    await ada.delete(`/tasks/subtasks/${step.id}`) // 5
    const { id } = await comment('Hers', bea) // 6
    await ada.delete(`/tasks/comments/${id}`) // 7
    await ada.delete(`/tasks/${task.id}`) // 8
    for (const seq of [5, 7, 8]) expectError(await undo({ seq }, bea), 403, needed('ADMIN'))
    expectError(await undo({ seqs: [7, 8] }, bea, '?dryRun=true'), 403, `Seq 8: ${needed('ADMIN')}`)
    await setRole('ADMIN') // 9
    const token = await withToken(bea, { scopes: ['write'] })
    expectError(await undo({ seq: 5 }, token), 403, 'This needs an API token with the scope admin')
    expectError(await undo({ seq: 5 }, await register(scene.client)), 404, 'Project not found')
    for (const seq of [8, 7, 5]) await undone({ seq }, bea)
    expect(await faultsOf(sql)).toEqual([])
  })

  test('rejects an undo by a VIEWER that restores a comment, also a comment that the VIEWER deleted', async () => {
    const setRole = await inviteEditor()
    const [moderated, own] = [await comment('Moderated', bea), await comment('Own', bea)] // 4, 5
    await setRole('VIEWER') // 6
    await ada.delete(`/tasks/comments/${moderated.id}`) // 7
    expect((await bea.delete(`/tasks/comments/${own.id}`)).status).toBe(200) // 8
    expectError(await undo({ seq: 7 }, bea), 403, needed('ADMIN'))
    expectError(await undo({ seq: 8 }, bea), 403, needed('EDITOR'))
    expect(await comments()).toEqual([])
  })

  test('an EDITOR may undo own deletions, and a VIEWER the creation and edits of own comments', async () => {
    const setRole = await inviteEditor()
    const { id } = await comment('First', bea) // 4
    await bea.delete(`/tasks/comments/${id}`) // 5
    await undone({ seq: 5 }, bea) // 6
    await bea.delete(`/tasks/${task.id}`) // 7
    await undone({ seq: 7 }, bea) // 8, 9
    expect(await comments()).toMatchObject([{ id }])
    const own = await comment('Own', bea) // 10
    await setRole('VIEWER') // 11
    await bea.patch(`/tasks/comments/${own.id}`, { text: 'Second' }) // 12
    await undone({ seq: 12 }, bea) // 13
    expect(await comments()).toMatchObject([{ id }, { text: 'Own' }])
    await undone({ seqs: [10, 12, 13] }, bea)
    expect(await comments()).toMatchObject([{ id }])
    expect(await faultsOf(sql)).toEqual([])
  })
})
