import { beforeEach, expect, test } from 'bun:test'
import { purgeTask } from '../../workers/cascade.ts'
import { type Body, invite, make, register, withToken } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectError } from './responses.ts'
import { expectUndone, openUndoScene, changesOf } from './undo-scene.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, undo, sql } = scene
beforeEach(async () => void ({ project, task } = await scene.furnish()))

const comment = (text = 'C', who = ada) => make(who, `/tasks/${task.id}/comments`, { text })
const comments = async () => (await ada.get(`/tasks/${task.id}/comments`)).body as unknown as Body[]
/** Runs the jobs of the project's deleted tasks. */
async function removeRows() {
  const owed = await sql<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where project_id = ${project.id} order by id`
  for (const { data } of owed) await purgeTask(sql, data, { batchRows: 100, pauseMs: 0 })
}

test('a task that went twice comes back as it went last, and its first deletion is not undone any more', async () => {
  const add = (title: string) => make(ada, `/tasks/${task.id}/subtasks`, { title })
  await add('S') // 3
  await ada.delete(`/tasks/${task.id}`) // 4
  expectUndone(await undo({ seq: 4 })) // 5, 6
  await add('S2') // 7
  await ada.delete(`/tasks/${task.id}`) // 8
  expectError(await undo({ seq: 4 }), 409, 'Seq 4 cannot be undone: task changed since by seq 5, 6, 7, 8')
  const undone = changesOf(expectUndone(await undo({ seq: 8 }))) // 9, 10, 11
  expect(undone).toEqual(['task.created 8', 'subtask.created 8', 'subtask.created 8'])
  const { body } = await ada.get(`/tasks/${task.id}/subtasks`)
  expect((body as unknown as Body[]).map(({ title }) => title)).toEqual(['S', 'S2'])
  const other = await make(ada, '/projects', { name: 'Other' })
  await ada.patch(`/tasks/${task.id}`, { projectId: other.id }) // 12
  await ada.delete(`/tasks/${task.id}`)
  const message = 'Seq 8 cannot be undone: task changed since by seq 9, 10, 11, 12'
  expectError(await undo({ seq: 8 }), 409, message)
  expect(await faultsOf(sql)).toEqual([])
})

for (const [what, begun, open, change] of [
  ['comment', 'created', () => comment(), { text: 'Later' }],
  ['member', 'invited', () => invite(ada, project.id, bea, 'ADMIN'), { role: 'VIEWER' }],
] as const)
  test(`a ${what} that went twice comes back as it went last`, async () => {
    const { id } = await open() // 3
    const list = what === 'comment' ? '/tasks/comments' : `/projects/${project.id}/members`
    await ada.delete(`${list}/${id}`) // 4
    expectUndone(await undo({ seq: 4 })) // 5
    await ada.patch(`${list}/${id}${what === 'comment' ? '' : '/role'}`, change) // 6
    await ada.delete(`${list}/${id}`) // 7
    const message = `Seq 4 cannot be undone: ${what} changed since by seq 5, 6, 7`
    expectError(await undo({ seq: 4 }), 409, message)
    expect(changesOf(expectUndone(await undo({ seq: 7 })))).toEqual([`${what}.${begun} 7`])
    const { body } = await ada.get(what === 'comment' ? `/tasks/${task.id}/comments` : list)
    expect(body).toMatchObject([{ id, ...change }])
  })

test('what went twice is gone from where it came when all of it is undone at once', async () => {
  await ada.delete(`/tasks/${task.id}`) // 3
  expectUndone(await undo({ seq: 3 })) // 4
  await ada.delete(`/tasks/${task.id}`) // 5
  const undone = changesOf(expectUndone(await undo({ seqs: [3, 4, 5] })))
  expect(undone).toEqual(['task.created 5', 'task.deleted 4', 'task.created 3'])
  expect((await ada.get(`/tasks/${task.id}`)).body).toEqual(task)
  expect(await faultsOf(sql)).toEqual([])
})

for (const [when, prepare] of [
  ['before', async () => {}],
  ['after', removeRows],
] as const) {
  test(`what came back with a task comes back once more when all of it is undone at once, ${when} its rows are removed`, async () => {
    await scene.bothIn(task.id) // 3, 4
    const before = await comments()
    await ada.delete(`/tasks/${task.id}`) // 5
    expectUndone(await undo({ seq: 5 })) // 6, 7, 8
    await ada.delete(`/tasks/${task.id}`) // 9
    await prepare()
    expectUndone(await undo({ seqs: [5, 6, 9] }))
    await removeRows()
    expect(await comments()).toEqual(before)
    expect(await faultsOf(sql)).toEqual([])
  })

  test(`a comment that came back after its task is not lost when the creation of the task is undone, ${when} its rows are removed`, async () => {
    const one = await comment() // 3
    await ada.delete(`/tasks/comments/${one.id}`) // 4
    await ada.delete(`/tasks/${task.id}`) // 5
    expectUndone(await undo({ seqs: [4, 5] })) // 6, 7
    for (const path of [`/tasks/${task.id}`, `/tasks/comments/${one.id}`]) {
      await ada.delete(path) // 8, 10
      await prepare()
      const last = await scene.version()
      const refused = await undo({ seqs: [5, 6, last] })
      expectError(refused, 409, /^Seq 6 cannot be undone: task changed since by seq 7/)
      expectUndone(await undo({ seq: last })) // 9 and on
      await removeRows()
      expect(await comments()).toEqual([one])
    }
    expect(await faultsOf(sql)).toEqual([])
  })
}

test('what came back with a task is named too when that is undone and the task comes back without it', async () => {
  const one = await comment() // 3
  await ada.delete(`/tasks/${task.id}`) // 4
  expectUndone(await undo({ seq: 4 })) // 5, 6
  const undone = changesOf(expectUndone(await undo({ seqs: [3, 4, 5, 6] }))) // 7 to 11
  const types = ['comment.deleted 6', 'task.deleted 5', 'task.created 4', 'comment.created 4']
  expect(undone).toEqual([...types, 'comment.deleted 3'])
  const refused = await undo({ seqs: [8, 9, 11] })
  expectError(refused, 409, 'Seq 9 cannot be undone: task changed since by seq 10')
  expectUndone(await undo({ batch: 7 }))
  await removeRows()
  expect(await comments()).toEqual([one])
  expect(await faultsOf(sql)).toEqual([])
})

/** Makes Bea an EDITOR (event 3), and gives a way to change her role. */
async function withEditor() {
  const { id } = await invite(ada, project.id, bea, 'EDITOR')
  return (role: string) => ada.patch(`/projects/${project.id}/members/${id}/role`, { role })
}
const needed = (role: string) => `This needs the role ${role} in the project`

test('rejects an undo that restores what somebody else deleted, unless the caller and the token are of an ADMIN', async () => {
  const setRole = await withEditor()
  const step = await make(bea, `/tasks/${task.id}/subtasks`, { title: 'S' }) // 4
  await ada.delete(`/tasks/subtasks/${step.id}`) // 5
  const { id } = await comment('Hers', bea) // 6
  await ada.delete(`/tasks/comments/${id}`) // 7
  await ada.delete(`/tasks/${task.id}`) // 8
  for (const seq of [5, 7, 8]) expectError(await undo({ seq }, bea), 403, needed('ADMIN'))
  expectError(await undo({ seqs: [7, 8] }, bea, '?dryRun=true'), 403, `Seq 8: ${needed('ADMIN')}`)
  await setRole('ADMIN') // 9
  const writing = await withToken(bea, { scopes: ['write'] })
  expectError(await undo({ seq: 5 }, writing), 403, 'This needs an API token with the scope admin')
  expectError(await undo({ seq: 5 }, await register(scene.client)), 404, 'Project not found')
  for (const seq of [8, 7, 5]) expectUndone(await undo({ seq }, bea))
  expect(await faultsOf(sql)).toEqual([])
})

test('rejects an undo by a VIEWER that restores a comment, also one that the VIEWER deleted', async () => {
  const setRole = await withEditor()
  const [moderated, own] = [await comment('Moderated', bea), await comment('Own', bea)] // 4, 5
  await setRole('VIEWER') // 6
  await ada.delete(`/tasks/comments/${moderated.id}`) // 7
  expect((await bea.delete(`/tasks/comments/${own.id}`)).status).toBe(200) // 8
  expectError(await undo({ seq: 7 }, bea), 403, needed('ADMIN'))
  expectError(await undo({ seq: 8 }, bea), 403, needed('EDITOR'))
  expect(await comments()).toEqual([])
})

test('lets an EDITOR restore what the EDITOR deleted, and a VIEWER undo their own comment and their own edit', async () => {
  const setRole = await withEditor()
  const { id } = await comment('First', bea) // 4
  await bea.delete(`/tasks/comments/${id}`) // 5
  expectUndone(await undo({ seq: 5 }, bea)) // 6
  await bea.delete(`/tasks/${task.id}`) // 7
  expectUndone(await undo({ seq: 7 }, bea)) // 8, 9
  expect(await comments()).toMatchObject([{ id }])
  const own = await comment('Own', bea) // 10
  await setRole('VIEWER') // 11
  await bea.patch(`/tasks/comments/${own.id}`, { text: 'Second' }) // 12
  expectUndone(await undo({ seq: 12 }, bea)) // 13
  expect(await comments()).toMatchObject([{ id }, { text: 'Own' }])
  expectUndone(await undo({ seqs: [10, 12, 13] }, bea))
  expect(await comments()).toMatchObject([{ id }])
  expect(await faultsOf(sql)).toEqual([])
})
