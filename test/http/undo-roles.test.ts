import { beforeEach, expect, test } from 'bun:test'
import { type Body, invite, make, register, withToken } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { expectRefusal } from './answers.ts'
import { done, openScene } from './undo-scene.ts'

let task: Body
/** Ada owns the project; the member is Bea (event 3). */
let member: Body
const scene = await openScene()
const { ada, bea } = scene
const cyd = await register(scene.service.client, 'Cyd')
beforeEach(async () => {
  await scene.furnish()
  ;({ task } = scene)
  member = await invite(ada, scene.project.id, bea, 'EDITOR')
})
const undo: (typeof scene)['undo'] = (...asked) => scene.undo(...asked)
const setRole = (role: string) =>
  ada.patch(`/projects/${scene.project.id}/members/${member.id}/role`, { role })
const comment = (text: string) => make(bea, `/tasks/${task.id}/comments`, { text })
const adminNeeded = 'This needs the role ADMIN in the project'
const editorNeeded = 'This needs the role EDITOR in the project'

test('rejects an undo that restores what somebody else deleted, unless the caller is an ADMIN', async () => {
  const step = await make(bea, `/tasks/${task.id}/subtasks`, { title: 'S' }) // 4
  await ada.delete(`/tasks/subtasks/${step.id}`) // 5
  const said = await comment('Hers') // 6
  await ada.delete(`/tasks/comments/${said.id}`) // 7
  await ada.delete(`/tasks/${task.id}`) // 8
  for (const seq of [5, 7, 8]) expectRefusal(await undo({ seq }, bea), 403, adminNeeded)
  expectRefusal(await undo({ seqs: [7, 8] }, bea, '?dryRun=true'), 403, `Seq 8: ${adminNeeded}`)
  await setRole('ADMIN') // 9
  for (const seq of [8, 7, 5]) done(await undo({ seq }, bea))
})

test('rejects an undo by a VIEWER that restores a comment, also one that the VIEWER deleted', async () => {
  const [moderated, own] = [await comment('Moderated'), await comment('Own')] // 4, 5
  await setRole('VIEWER') // 6
  await ada.delete(`/tasks/comments/${moderated.id}`) // 7
  expect((await bea.delete(`/tasks/comments/${own.id}`)).status).toBe(200) // 8
  expectRefusal(await undo({ seq: 7 }, bea), 403, adminNeeded)
  expectRefusal(await undo({ seq: 8 }, bea), 403, editorNeeded)
  expect((await ada.get(`/tasks/${task.id}/comments`)).body).toEqual([] as never)
})

test('lets an EDITOR restore what the EDITOR deleted', async () => {
  const said = await comment('Hers') // 4
  await bea.delete(`/tasks/comments/${said.id}`) // 5
  done(await undo({ seq: 5 }, bea)) // 6
  await bea.delete(`/tasks/${task.id}`) // 7
  done(await undo({ seq: 7 }, bea))
  expect((await bea.get(`/tasks/${task.id}/comments`)).body).toMatchObject([{ id: said.id }])
})

test('lets a VIEWER undo their own comment and their own edit of it', async () => {
  const said = await comment('First') // 4
  await setRole('VIEWER') // 5
  await bea.patch(`/tasks/comments/${said.id}`, { text: 'Second' }) // 6
  done(await undo({ seq: 6 }, bea)) // 7
  expect((await bea.get(`/tasks/${task.id}/comments`)).body).toMatchObject([{ text: 'First' }])
  done(await undo({ seqs: [4, 6, 7] }, bea))
  expect((await ada.get(`/tasks/${task.id}/comments`)).body).toEqual([] as never)
})

test('takes the scope admin of an API token to restore what somebody else deleted', async () => {
  await setRole('ADMIN') // 4
  await ada.delete(`/tasks/${task.id}`) // 5
  const writing = await withToken(bea, { scopes: ['write'] })
  expectRefusal(await undo({ seq: 5 }, writing), 403, 'This needs an API token with the scope admin')
  expectRefusal(await undo({ seq: 5 }, cyd), 404, 'Project not found')
})

test('folding the events of these undos gives the stored rows', async () => {
  expect(await faultsOf(scene.sql)).toEqual([])
})
