import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Refusal } from '../../src/wire/refusals.ts'
import { type Body, make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { eventually, upTo } from './pair.ts'

let service: TestService
let ada: Person
let project: Body
beforeEach(async () => {
  service = await openTestService()
  ada = await register(service.client)
  project = await make(ada, '/projects', { name: 'Closing' })
})
afterEach(() => service.close())

const add = (title: string) =>
  service.services.run({
    name: 'task.create',
    input: { projectId: project.id, title },
    caller: { userId: ada.id },
  })

// The port and the workers wait for what they asked for, but not for ever: what they gave up is still finished in order.
test('commands that wait when the service closes are done before anything they need is closed', async () => {
  const { database } = service.services
  const locked = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holding = database.chores.begin(async (sql) => {
    await sql`select 1 from streams where project_id = ${project.id} for update`
    locked.resolve()
    await release.promise
  })
  await locked.promise
  const first = add('Under way')
  const isBlocked = () => database.reads`
    select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%update streams%'`
  await eventually('the commit', async () => (await isBlocked()).length > 0)
  const waiting = upTo(20).map((n) => add(`Waiting ${n}`))
  const closed = service.services.close()
  await eventually('the end of what is accepted', () => service.services.actors.isClosing)

  expect(await add('Late').catch((error: Refusal) => error.status)).toBe(503)
  release.resolve()
  await Promise.all([holding, closed])
  const replies = await Promise.all([first, ...waiting])
  expect(JSON.parse(replies.at(-1)!.body).title).toBe('Waiting 20')
})
