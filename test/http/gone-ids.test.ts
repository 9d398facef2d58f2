import { afterAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import { upTo } from '../races/pair.ts'
import type { Body } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectRefusal } from './answers.ts'
import { openScene } from './batch-scene.ts'

const taken = 'This id is taken: what is created needs a new one'
let scene: Awaited<ReturnType<typeof openScene>>
let project: Body
let task: Body
const { ada } = (scene = await openScene())
afterAll(() => scene.service.close())
beforeEach(async () => void ({ project, task } = await scene.furnish()))

const batch = (operations: object[]) => scene.send(project.id, operations)

test('what was made and is gone keeps its id, within one batch too, and all that hung on it', async () => {
  const [taskId, id] = [newId(), newId()]
  const made: Record<string, object> = {
    task: { op: 'task.create', id, title: 'Own' },
    subtask: { op: 'subtask.create', id, taskId, title: 'Own' },
    comment: { op: 'comment.create', id, taskId, text: 'Own' },
  }
  const place = { op: 'task.create', id: taskId, title: 'Place' }
  for (const [what, one] of Object.entries(made))
    for (const other of Object.values(made)) {
      const gone = { op: `${what}.delete`, id }
      expectRefusal(await batch([place, one, gone, other]), 409, `operations[3]: ${taken}`)
      if (what === 'task') continue
      const away = { op: 'task.delete', id: taskId }
      const elsewhere = other === made.task ? other : { ...other, taskId: task.id }
      const again = [place, one, away, elsewhere]
      expectRefusal(await batch(again), 409, `operations[3]: ${taken}`)
    }
  expectRefusal(
    await batch([place, { op: 'task.delete', id: taskId }, place]),
    409,
    `operations[2]: ${taken}`,
  )
})

test('what was made and is gone keeps its id among writes that are committed together', async () => {
  for (const _ of upTo(20)) {
    const id = newId()
    const body = { id, title: 'Own', projectId: project.id }
    const [made, gone, again] = await Promise.all([
      ada.post('/tasks', body),
      batch([
        { op: 'task.create', id: newId(), title: 'So that it waits for what is looked up as they do' },
        { op: 'task.delete', id },
      ]),
      ada.post('/tasks', body),
    ])
    if (gone.status === 200) expect([made.status, again.status].sort()).toEqual([201, 409])
  }
  expect(await faultsOf(scene.reads)).toEqual([])
})
