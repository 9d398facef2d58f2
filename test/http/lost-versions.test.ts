import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createApp } from '../../src/app.ts'
import { eventually, upTo } from '../races/pair.ts'
import { make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { listenIn, take } from './listen.ts'

let service: TestService
let app: ReturnType<typeof createApp>
let ada: Person
let projectId: string
/** How often it was looked for what comes next, and how often there is no room for that. */
let [reads, without] = [0, 0]

beforeAll(async () => {
  service = await openTestService()
  const { recent } = service.services
  const { after } = recent
  recent.after = (range) => {
    reads += 1
    return reads > without ? after.call(recent, range) : []
  }
  app = createApp(service.services)
  ada = await register(service.client)
})
afterAll(() => service.close())
beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Engine' })).id
  ;[reads, without] = [0, 0]
})

test('a stream that heard of a version that was lost looks for it once, and tells the one that takes its place', async () => {
  const messages = await listenIn(app, ada, projectId)
  const told = take(messages, 1)
  service.services.hints.tell([{ projectId, version: 2 }])
  await eventually('a look for what was heard of', () => reads > 0)
  for (const _ of upTo(100)) await ada.get('/projects')
  expect(reads).toBe(1)
  await make(ada, '/tasks', { title: 'Draw', projectId })
  expect(await told).toMatchObject([{ id: '2', event: 'task.created' }])
  await messages.return()
})

test('a stream for whose events there was no room reads them again, until it has them', async () => {
  const messages = await listenIn(app, ada, projectId)
  const told = take(messages, 2)
  without = 3
  for (const title of ['Draw', 'Cut']) await make(ada, '/tasks', { title, projectId })
  expect(await told).toMatchObject([{ id: '2' }, { id: '3' }])
  expect(reads).toBeGreaterThan(without)
  await messages.return()
})

test('a stream that is ahead of what was kept ends once it hears of more', async () => {
  const messages = await listenIn(app, ada, projectId)
  await make(ada, '/tasks', { title: 'Draw', projectId })
  expect(await take(messages, 1)).toMatchObject([{ id: '2' }])
  const { reads: sql } = service.services.database
  await sql`delete from events where project_id = ${projectId} and seq = 2`
  await sql`update streams set version = 1, last_event_id =
    (select id from events where project_id = ${projectId} and seq = 1) where project_id = ${projectId}`
  service.services.hints.tell([{ projectId, version: 3 }])
  expect(await take(messages, 9)).toMatchObject([{ event: 'end', data: { statusCode: 400 } }])
})
