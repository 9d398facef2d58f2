import { expect, test } from 'bun:test'
import { invite, register } from '../../support/client.ts'
import { expectError } from '../../http/responses.ts'
import { follow } from './follow.ts'
import { openImportScene, start } from './scene.ts'

const scene = await openImportScene()
const { client, service, newProject } = scene
const { importNotifications, subscriptions } = service.services

async function startOne() {
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId)
  const notify = () => importNotifications.publish([{ projectId, version: 0 }])
  return { owner, projectId, body, notify }
}

test('sends the import at once and after each change, and ends after the final state', async () => {
  const { owner, body, notify } = await startOne()
  const stream = await follow(service, owner, body.id)
  expect(await stream.next()).toEqual({ event: 'progress', data: body } as never)
  for (const progress of [0.25, 0.5]) {
    await scene.set(body.id, { state: 'running', progress })
    notify()
    expect(await stream.next()).toMatchObject({ data: { state: 'running', progress } })
  }
  // Without a notification, the stream reads the change when it polls.
  await scene.end(body.id, { progress: 1 })
  const last = await stream.next()
  expect(last?.data).toEqual((await owner.get(`/imports/${body.id}`)).body as never)
  expect(last?.data.state).toBe('done')
  expect(await stream.next()).toBeUndefined()
})

test('the stream of an ended import sends the import once, or until its undo has ended', async () => {
  const { owner, body, notify } = await startOne()
  await scene.end(body.id)
  const over = await follow(service, owner, body.id)
  expect(await over.next()).toMatchObject({ data: { state: 'done', undo: null } })
  expect(await over.next()).toBeUndefined()
  await scene.set(body.id, { undo_state: 'running' })
  const undoing = await follow(service, owner, body.id)
  expect(await undoing.next()).toMatchObject({ data: { undo: { state: 'running' } } })
  await scene.set(body.id, { undo_state: 'done' })
  notify()
  expect(await undoing.next()).toMatchObject({ data: { undo: { state: 'done' } } })
  expect(await undoing.next()).toBeUndefined()
})

test('ends with 404 when the caller is no longer a member, and with 401 when the token is revoked', async () => {
  const { owner, projectId, body, notify } = await startOne()
  const guest = await register(client)
  const { id: memberId } = await invite(owner, projectId, guest)
  const [removed, revoked] = [await follow(service, guest, body.id), await follow(service, owner, body.id)]
  for (const stream of [removed, revoked]) expect((await stream.next())?.data.state).toBe('queued')
  await owner.delete(`/projects/${projectId}/members/${memberId}`)
  await owner.post('/auth/logout')
  await scene.set(body.id, { progress: 0.5 })
  notify()
  expect(await removed.next()).toMatchObject({ event: 'end', data: { statusCode: 404 } })
  expect(await revoked.next()).toMatchObject({ event: 'end', data: { statusCode: 401 } })
  for (const stream of [removed, revoked]) expect(await stream.next()).toBeUndefined()
})

test('counts as a stream of the account until it ends', async () => {
  const { owner, body } = await startOne()
  const before = subscriptions.inProgress()
  const [first, second] = [await follow(service, owner, body.id), await follow(service, owner, body.id)]
  await first.next()
  expect(subscriptions.inProgress()).toBe(before + 2)
  await Promise.all([first.close(), second.close()])
  expect(subscriptions.inProgress()).toBe(before)
  expectError(await owner.get('/imports/none/events'), 404, 'Import not found')
})
