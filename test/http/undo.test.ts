import { beforeEach, expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectRefusal } from './answers.ts'
import { done, openScene, told } from './undo-scene.ts'

let project: Body
let task: Body
const scene = await openScene()
const { ada, bea } = scene
beforeEach(async () => void ({ project, task } = await scene.furnish()))
const undo: (typeof scene)['undo'] = (...asked) => scene.undo(...asked)

test('a change is set back, and says so in the feed as in the answer', async () => {
  await ada.patch(`/tasks/${task.id}`, { title: 'Other', status: 'DONE' })
  const undone = done(await undo({ seq: 3 }))
  expect(undone.version).toBe(4)
  expect(undone.changes).toMatchObject([
    { seq: 4, type: 'task.updated', undoes: 3, batch: null, entityId: task.id, taskId: task.id },
  ])
  const { body } = await ada.get(`/tasks/${task.id}`)
  expect(body).toEqual({ ...task, updatedAt: body.updatedAt })
  const feed = await ada.get(`/projects/${project.id}/events?after=3`)
  expect(feed.body as unknown).toEqual(undone.changes)
})

test('a task comes back with all that hung on it, before and after its rows are gone', async () => {
  const step = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  await ada.patch(`/tasks/subtasks/${step.id}/toggle`)
  const gone = await make(ada, `/tasks/${task.id}/comments`, { text: 'Gone' })
  await ada.delete(`/tasks/comments/${gone.id}`)
  const before = await Promise.all(
    ['', '/subtasks', '/comments'].map(async (path) => (await ada.get(`/tasks/${task.id}${path}`)).text),
  )
  for (const isPurged of [false, true]) {
    await ada.delete(`/tasks/${task.id}`)
    const seq = await scene.version()
    if (isPurged) await scene.sql`delete from subtasks where task_id = ${task.id}`
    if (isPurged) await scene.sql`delete from comments where task_id = ${task.id}`
    const undone = done(await undo({ seq }))
    expect(told(undone)).toEqual([`task.created ${seq}`, `subtask.created ${seq}`, `comment.created ${seq}`])
    const after = await Promise.all(
      ['', '/subtasks', '/comments'].map(async (path) => (await ada.get(`/tasks/${task.id}${path}`)).text),
    )
    expect(after).toEqual(before)
  }
  expect((await make(ada, '/tasks', { title: 'Next', projectId: project.id })).number).toBe(2)
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('a field that was changed again is not undone, and the refusal names who did; others are kept', async () => {
  const patch = (body: object) => ada.patch(`/tasks/${task.id}`, body)
  await patch({ title: 'Second', status: 'DONE' }) // 3
  await patch({ priority: 'HIGH' }) // 4
  await patch({ title: 'Third' }) // 5
  await patch({ title: 'Fourth', description: 'D' }) // 6
  expectRefusal(await undo({ seq: 3 }), 409, 'Seq 3 cannot be undone: title changed since by seq 5, 6')
  expect(await scene.version()).toBe(6)
  expect(told(done(await undo({ seqs: [3, 5, 6] })))).toEqual([6, 5, 3].map((n) => `task.updated ${n}`))
  expect((await ada.get(`/tasks/${task.id}`)).body).toMatchObject({
    ...{ title: 'T', status: 'TODO', priority: 'HIGH', description: null },
  })
  expectRefusal(await undo({ seq: 3 }), 409, /: title, status changed since by seq 5, 6, 7, 8, 9$/)
})

test('a batch is undone whole, and done again by undoing that', async () => {
  const operations = [
    { op: 'task.create', as: 'new', title: 'New' },
    { op: 'subtask.create', taskId: '#new', title: 'Step', as: 'step' },
    { op: 'subtask.toggle', id: '#step' },
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
  await ada.post(`/projects/${project.id}/batch`, { operations })
  const after = await state()
  const undone = done(await undo({ batch: 3 }))
  expect(await state()).toEqual(before)
  expect(undone.changes.every(({ batch }) => batch === 10)).toBe(true)
  expect(told(undone)[0]).toBe('task.created 9')
  const again = done(await undo({ batch: 10 }))
  expect(await state()).toEqual(after)
  expect(await faultsOf(scene.sql)).toEqual([])
  done(await undo({ batch: again.changes[0]!.batch! }))
  expect(await state()).toEqual(before)
})

test('what came back with its task goes with it again, unless something was changed or added since', async () => {
  const step = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
  await ada.delete(`/tasks/${task.id}`) // 4
  done(await undo({ seq: 4 })) // 5, 6
  expect(told(done(await undo({ seq: 5 })))).toEqual(['task.deleted 5']) // 7
  done(await undo({ seq: 7 })) // 8, 9
  await ada.patch(`/tasks/subtasks/${step.id}/toggle`) // 10
  expectRefusal(await undo({ seq: 8 }), 409, /^Seq 8 cannot be undone: task changed since by seq 9, 10$/)
  done(await undo({ seq: 10 })) // 11
  expectRefusal(await undo({ batch: 8 }), 409)
  expectRefusal(await undo({ seq: 2 }), 409)
})

test('to undo the making of a task takes nothing away that was added to it since', async () => {
  await scene.bothIn(task.id)
  expectRefusal(await undo({ seq: 2 }), 409, 'Seq 2 cannot be undone: task changed since by seq 3, 4')
  done(await undo({ seqs: [2, 3, 4] }))
  expect((await ada.get(`/tasks/${task.id}`)).status).toBe(404)
  done(await undo({ seqs: [7] }))
  expect((await ada.get(`/tasks/${task.id}/comments`)).body).toEqual([] as never)
})
