import { purgeTask } from '../../workers/cascade.ts'
import { changesOf, expectError, expectUndone, faultsOf, invite, make, openUndoScene } from '../kit.ts'
import { register, withToken } from '../kit.ts'
import type { Body } from '../kit.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, undo, sql } = scene
beforeEach(async () => void ({ project, task } = await scene.setUp()))

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

async function inviteEditor() {
  const { id } = await invite(ada, project.id, bea, 'EDITOR')
  return (role: string) => ada.patch(`/projects/${project.id}/members/${id}/role`, { role })
}
const needed = (role: string) => `This needs the role ${role} in the project`

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
