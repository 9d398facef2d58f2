import { afterAll, beforeEach, expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectRefusal } from './answers.ts'
import { done, openScene, told } from './undo-scene.ts'

let task: Body
const scene = await openScene()
const { ada } = scene
afterAll(() => scene.service.close())
beforeEach(async () => {
  await scene.furnish()
  ;({ task } = scene)
})
const undo: (typeof scene)['undo'] = (...asked) => scene.undo(...asked)

test('a task that went twice comes back as it went last, and its first deletion is not undone any more', async () => {
  const add = (title: string) => make(ada, `/tasks/${task.id}/subtasks`, { title })
  await add('S') // 3
  await ada.delete(`/tasks/${task.id}`) // 4
  done(await undo({ seq: 4 })) // 5, 6
  await add('S2') // 7
  await ada.delete(`/tasks/${task.id}`) // 8
  expectRefusal(await undo({ seq: 4 }), 409, 'Seq 4 cannot be undone: task changed since by seq 5, 6, 7, 8')
  expect(told(done(await undo({ seq: 8 })))).toEqual(
    [8, 8, 8].map((n, i) => `${i ? 'sub' : ''}task.created ${n}`),
  )
  const { body } = await ada.get(`/tasks/${task.id}/subtasks`)
  expect((body as unknown as Body[]).map(({ title }) => title)).toEqual(['S', 'S2'])
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('so does a comment, and a task that went again in another project', async () => {
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' }) // 3
  await ada.delete(`/tasks/comments/${comment.id}`) // 4
  done(await undo({ seq: 4 })) // 5
  await ada.patch(`/tasks/comments/${comment.id}`, { text: 'Later' }) // 6
  await ada.delete(`/tasks/comments/${comment.id}`) // 7
  expectRefusal(await undo({ seq: 4 }), 409, 'Seq 4 cannot be undone: comment changed since by seq 5, 6, 7')
  expect(told(done(await undo({ seq: 7 })))).toEqual(['comment.created 7']) // 8

  await ada.delete(`/tasks/${task.id}`) // 9
  done(await undo({ seq: 9 })) // 10, 11
  const other = await make(ada, '/projects', { name: 'Other' })
  await ada.patch(`/tasks/${task.id}`, { projectId: other.id }) // 12
  await ada.delete(`/tasks/${task.id}`)
  expectRefusal(await undo({ seq: 9 }), 409, 'Seq 9 cannot be undone: task changed since by seq 10, 11, 12')
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('so does a member', async () => {
  const { project } = scene
  const members = `/projects/${project.id}/members`
  const { id } = await make(ada, `${members}/invite`, { email: scene.bea.email, role: 'ADMIN' }) // 3
  await ada.delete(`${members}/${id}`) // 4
  done(await undo({ seq: 4 })) // 5
  await ada.patch(`${members}/${id}/role`, { role: 'VIEWER' }) // 6
  await ada.delete(`${members}/${id}`) // 7
  expectRefusal(await undo({ seq: 4 }), 409, 'Seq 4 cannot be undone: member changed since by seq 5, 6, 7')
  expect(told(done(await undo({ seq: 7 })))).toEqual(['member.invited 7'])
  expect((await ada.get(members)).body).toMatchObject([{ id, role: 'VIEWER' }])
})

test('what went twice is gone from where it came when all of it is undone at once', async () => {
  await ada.delete(`/tasks/${task.id}`) // 3
  done(await undo({ seq: 3 })) // 4
  await ada.delete(`/tasks/${task.id}`) // 5
  const undone = done(await undo({ seqs: [3, 4, 5] }))
  expect(told(undone)).toEqual(['task.created 5', 'task.deleted 4', 'task.created 3'])
  expect((await ada.get(`/tasks/${task.id}`)).body).toEqual(task)
  expect(await faultsOf(scene.sql)).toEqual([])
})
