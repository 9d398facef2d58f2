import { HttpError } from '../../src/responses/errors.ts'
import { eventually, holdTransaction, make, openForEach, openTestService, register } from '../kit.ts'
import { untilBlocked, upTo } from '../kit.ts'
import type { Body, Person, TestService } from '../kit.ts'

const forEach = openForEach()
let service: TestService
let ada: Person
let project: Body
beforeEach(async () => {
  service = await forEach(openTestService({ LOCK_TIMEOUT_MS: '30000' }))
  ada = await register(service.client)
  project = await make(ada, '/projects', { name: 'Closing' })
})

const add = (title: string) =>
  service.services.run({
    name: 'task.create',
    input: { projectId: project.id, title },
    caller: { userId: ada.id },
  })

// A queued command is executed even if its request has timed out.
test('a closing service rejects new commands, and executes queued commands before it closes the database', async () => {
  const { database } = service.services
  const release = await holdTransaction(
    database.background,
    (tx) => tx`select 1 from streams where project_id = ${project.id} for update`,
  )
  const first = add('Under way')
  await untilBlocked(database.reads, 1, '%update streams%')
  const waiting = upTo(20).map((n) => add(`Waiting ${n}`))
  const closed = service.services.close()
  await eventually('the service to reject commands', () => service.services.actors.isClosing)

  expect(await add('Late').catch((error: HttpError) => error.status)).toBe(503)
  await Promise.all([release(), closed])
  const replies = await Promise.all([first, ...waiting])
  expect(JSON.parse(replies.at(-1)!.body).title).toBe('Waiting 20')
})
