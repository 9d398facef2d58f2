import { beforeEach, expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { purgeTask } from '../../workers/cascade.ts'
import { expectRefusal } from './answers.ts'
import { done, openScene, told } from './undo-scene.ts'

let task: Body
const scene = await openScene()
const { ada } = scene
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

/** Runs the jobs of the project's deleted tasks. */
async function removeRows() {
  const owed = await scene.sql<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where project_id = ${scene.project.id} order by id`
  for (const { data } of owed) await purgeTask(scene.sql, data, { batchRows: 100, pauseMs: 0 })
}
const comments = async () => (await ada.get(`/tasks/${task.id}/comments`)).body as unknown as Body[]

for (const [when, prepare] of [
  ['before', async () => {}],
  ['after', removeRows],
] as const) {
  test(`what came back with a task comes back once more when all of it is undone at once, ${when} its rows are removed`, async () => {
    await scene.bothIn(task.id) // 3, 4
    const before = await comments()
    await ada.delete(`/tasks/${task.id}`) // 5
    done(await undo({ seq: 5 })) // 6, 7, 8
    await ada.delete(`/tasks/${task.id}`) // 9
    await prepare()
    done(await undo({ seqs: [5, 6, 9] }))
    await removeRows()
    expect(await comments()).toEqual(before)
    expect(await faultsOf(scene.sql)).toEqual([])
  })

  test(`a comment that came back after its task is not lost when the creation of the task is undone, ${when} its rows are removed`, async () => {
    const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' }) // 3
    await ada.delete(`/tasks/comments/${comment.id}`) // 4
    await ada.delete(`/tasks/${task.id}`) // 5
    done(await undo({ seqs: [4, 5] })) // 6, 7
    for (const path of ['/tasks', '/tasks/comments']) {
      await ada.delete(`${path}/${path === '/tasks' ? task.id : comment.id}`) // 8, 10
      await prepare()
      const last = await scene.version()
      const refused = await undo({ seqs: [5, 6, last] })
      expectRefusal(refused, 409, /^Seq 6 cannot be undone: task changed since by seq 7/)
      done(await undo({ seq: last })) // 9 and on
      await removeRows()
      expect(await comments()).toEqual([comment])
    }
    expect(await faultsOf(scene.sql)).toEqual([])
  })
}

test('what came back with a task is named too when that is undone and the task comes back without it', async () => {
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' }) // 3
  await ada.delete(`/tasks/${task.id}`) // 4
  done(await undo({ seq: 4 })) // 5, 6
  const undone = done(await undo({ seqs: [3, 4, 5, 6] })) // 7 to 11
  expect(told(undone)).toEqual([
    ...['comment.deleted 6', 'task.deleted 5', 'task.created 4', 'comment.created 4', 'comment.deleted 3'],
  ])
  const refused = await undo({ seqs: [8, 9, 11] })
  expectRefusal(refused, 409, 'Seq 9 cannot be undone: task changed since by seq 10')
  done(await undo({ batch: 7 }))
  await removeRows()
  expect(await comments()).toEqual([comment])
  expect(await faultsOf(scene.sql)).toEqual([])
})
