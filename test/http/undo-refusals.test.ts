import { beforeEach, expect, test } from 'bun:test'
import { type Body, invite, make, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectRefusal } from './answers.ts'
import { done, openScene, type Undone } from './undo-scene.ts'

let project: Body
let task: Body
const scene = await openScene()
const { ada, bea } = scene
beforeEach(async () => void ({ project, task } = await scene.furnish()))
const undo: (typeof scene)['undo'] = (...asked) => scene.undo(...asked)

test('a dry run shows what would come of it, and nothing does', async () => {
  await scene.bothIn(task.id)
  await ada.delete(`/tasks/${task.id}`)
  const dry = done(await undo({ seq: 5 }, ada, '?dryRun=true'))
  expect(dry.version).toBe(5)
  expect(await scene.version()).toBe(5)
  const real = await undo({ seq: 5 })
  expect(real.headers.get('docket-version')).toBe('8')
  const plain = ({ changes }: Undone) =>
    changes.map(({ seq, type, undoes, batch }) => [seq, type, undoes, batch])
  expect(plain(dry)).toEqual(plain(done(real)))
})

test('the same key undoes once, and is answered alike', async () => {
  await ada.patch(`/tasks/${task.id}`, { title: 'Other' })
  const key = { 'idempotency-key': 'undo-1' }
  const first = await undo({ seq: 3 }, ada, '', key)
  const second = await undo({ seq: 3 }, ada, '', key)
  expect([second.text, second.headers.get('idempotency-replayed')]).toEqual([first.text, 'true'])
  expect(await scene.version()).toBe(4)
  expectRefusal(await undo({ seq: 4 }, ada, '', { 'if-match': '"other"' }), 412)
})

test('what is not there, not said or not possible is refused in words', async () => {
  for (const body of [{}, { seq: 1, batch: 1 }, { seq: 1, seqs: [1] }])
    expectRefusal(await undo(body), 400, 'Say exactly one of seq, batch and seqs')
  for (const body of [
    { seq: 0 },
    { seq: '2' },
    { seq: 1.5 },
    { seqs: [] },
    { seqs: [1, 1] },
    { seqs: ['1'] },
  ])
    expectRefusal(await undo(body), 400)
  expectRefusal(await undo({ seq: 99 }), 404, 'Event 99 not found')
  expectRefusal(await undo({ batch: 2 }), 404, 'Batch 2 not found')
  expectRefusal(await undo({ seqs: [2, 99] }), 404, 'Event 99 not found')
  expectRefusal(await undo({ seq: 1 }), 409, "A project's creation cannot be undone: delete the project")
  expectRefusal(await undo({ seqs: [1, 2] }), 409, /^Seq 1: A project's creation/)
  const other = await make(ada, '/projects', { name: 'Other' })
  await ada.patch(`/tasks/${task.id}`, { projectId: other.id })
  const moved = 'A move between projects cannot be undone: move the task back'
  expectRefusal(await undo({ seq: 3 }), 409, moved)
  expectRefusal(await ada.post(`/projects/${other.id}/undo`, { seq: 2 }), 409, moved)
  expectRefusal(await undo({ seq: 2 }), 409, 'Seq 2 cannot be undone: task changed since by seq 3')
  await ada.delete(`/projects/${project.id}`)
  expectRefusal(await undo({ seq: 4 }), 404, 'Project not found')
})

test('an undo takes the role of what it takes back, a comment its author', async () => {
  const cyd = await register(scene.service.client, 'Cyd')
  const member = await invite(ada, project.id, bea, 'EDITOR') // 3
  await invite(ada, project.id, cyd, 'VIEWER') // 4
  await ada.patch(`/projects/${project.id}`, { name: 'Q' }) // 5
  const said = await make(bea, `/tasks/${task.id}/comments`, { text: 'Hers' }) // 6
  await bea.patch(`/tasks/comments/${said.id}`, { text: 'Hers still' }) // 7
  for (const seq of [3, 4, 5]) expectRefusal(await undo({ seq }, bea), 403, /ADMIN/)
  expectRefusal(await undo({ seq: 2 }, cyd), 403, /EDITOR/)
  expectRefusal(await undo({ seq: 7 }), 403, 'Only its author may edit a comment')
  expectRefusal(await undo({ seq: 6 }, cyd), 403, 'Only its author or an admin may delete a comment')
  done(await undo({ seq: 7 }, bea)) // 8
  done(await undo({ seq: 5 })) // 9
  await bea.delete(`/tasks/comments/${said.id}`) // 10
  done(await undo({ seq: 10 }, bea)) // 11
  expect((await ada.get(`/tasks/${task.id}/comments`)).body).toMatchObject([{ id: said.id, text: 'Hers' }])
  await ada.patch(`/projects/${project.id}/members/${member.id}/role`, { role: 'VIEWER' }) // 12
  expectRefusal(await undo({ seq: 12 }, bea), 403)
  done(await undo({ seq: 12 })) // 13
  expect((await bea.post('/tasks', { title: 'T', projectId: project.id })).status).toBe(201)
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('rejects an undo of events with more than 4,000,000 characters in their texts, and takes back fewer', async () => {
  const long = (letter: string) => letter.repeat(20_000)
  for (let from = 0; from < 110; from += 40) {
    const operations = Array.from({ length: 40 }, (_, n) => {
      return { op: 'task.update', id: task.id, description: long('ab'[n % 2]!) }
    })
    expect((await ada.post(`/projects/${project.id}/batch`, { operations })).status).toBe(200)
  }
  const seqs = Array.from({ length: 120 }, (_, n) => n + 3)
  const answer = await undo({ seqs })
  expectRefusal(answer, 409, /^Too much would come or go: more than 5000 rows, or 4000000 characters/)
  done(await undo({ seqs: seqs.slice(-90) }))
  expect((await ada.get(`/tasks/${task.id}`)).body.description).toBe(long('b'))
})

test('a task is not given back to somebody who has left', async () => {
  const { id } = await invite(ada, project.id, bea) // 3
  await ada.patch(`/tasks/${task.id}`, { assigneeId: bea.id }) // 4
  await ada.patch(`/tasks/${task.id}`, { assigneeId: null }) // 5
  await ada.delete(`/projects/${project.id}/members/${id}`) // 6
  expectRefusal(await undo({ seq: 5 }), 409, 'Who had the task is not in the project any more')
  done(await undo({ seqs: [5, 6] }))
  expect((await ada.get(`/tasks/${task.id}`)).body.assigneeId).toBe(bea.id)
})

test('who was removed and invited again is not exchanged for the earlier member in one undo', async () => {
  const { id } = await invite(ada, project.id, bea) // 3
  await ada.delete(`/projects/${project.id}/members/${id}`) // 4
  await invite(ada, project.id, bea) // 5
  expectRefusal(await undo({ seqs: [4, 5] }), 409, /undo one, and then the other$/)
  done(await undo({ seq: 5 }))
  done(await undo({ seq: 4 }))
  expect((await ada.get(`/projects/${project.id}/members`)).body).toMatchObject([{ id, userId: bea.id }])
  expect(await faultsOf(scene.sql)).toEqual([])
})
