import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { openBehindProxy } from './behind-proxy.ts'

const { proxy, sql, ada } = await openBehindProxy()

test('who undoes an old deletion brings back nothing, when the task has moved since and is deleted meanwhile', async () => {
  const [here, there] = [
    await make(ada, '/projects', { name: 'Here' }),
    await make(ada, '/projects', { name: 'There' }),
  ]
  const { id } = await make(ada, '/tasks', { title: 'Of old', projectId: here.id })
  await ada.delete(`/tasks/${id}`)
  const undo = (seq: number) => ada.post(`/projects/${here.id}/undo`, { seq })
  expect((await undo(3)).status).toBe(200)
  await ada.patch(`/tasks/${id}`, { title: 'Renewed' })
  expect((await ada.patch(`/tasks/${id}`, { projectId: there.id })).status).toBe(200)
  // Were it decided to bring it back, this would be the commit of that.
  const commit = proxy.hold('Of old')
  const undone = undo(3)
  const isHeld = await Promise.race([commit.held.then(() => true), undone.then(() => false)])
  expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
  if (isHeld) await commit.deliver()
  expect((await undone).status).toBe(409)
  expect((await ada.get(`/tasks/${id}`)).status).toBe(404)
  expect(await faultsOf(sql)).toEqual([])
})
