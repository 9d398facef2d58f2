import type { Command } from '../../src/commands/command.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import type { Execute } from '../../src/commands/execute.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import { openRun } from '../../src/commands/router.ts'
import { type Body, faultsOf, make, newId, openScene } from '../kit.ts'
import { lookUpOf, executeOf, registry } from './local-execution.ts'

const taken = 'This id is already used; send a new UUIDv7'
let project: Body
let task: Body
let elsewhere: Body
const { service, sql, ada } = await openScene(['Ada'])
beforeEach(async () => {
  project = await make(ada, '/projects', { name: 'First' })
  elsewhere = await make(ada, '/projects', { name: 'Second' })
  task = await make(ada, '/tasks', { title: 'Parent', projectId: elsewhere.id })
})

/** Starts a command up to its look-up, which finds that the id is free. The returned function executes the command. */
async function send(name: string, input: object): Promise<() => ReturnType<Execute>> {
  const { reads } = service.services.database
  const sent = Promise.withResolvers<[Command, RoutedCommand]>()
  const run = openRun({
    registry,
    rowLocations: openRowLocations(reads),
    route: (command, routed) => {
      sent.resolve([command, routed])
      return Promise.withResolvers<never>().promise
    },
    timeoutMs: 15_000,
  })
  void run({ name, input, caller: { userId: ada.id } })
  const [command, routed] = await sent.promise
  const lookedUp = await lookUpOf(service.services)(command, routed)
  const execute = executeOf(service.services, { lookUp: async () => lookedUp })
  return () => execute(command, routed)
}

const creates: Record<string, (id: string) => [name: string, input: object]> = {
  project: (id) => ['project.create', { id, name: 'Own' }],
  task: (id) => ['task.create', { id, projectId: elsewhere.id, title: 'Own' }],
  subtask: (id) => ['subtask.create', { id, taskId: task.id, title: 'Own' }],
  comment: (id) => ['comment.create', { id, taskId: task.id, text: 'Own' }],
  batch: (id) => {
    return ['project.batch', { id: elsewhere.id, operations: [{ op: 'task.create', id, title: 'Own' }] }]
  },
}
const status = (answer: Promise<{ status: number }>) => answer.catch((error: { status: number }) => error)

for (const [what, createOf] of Object.entries(creates))
  test(`a ${what} gets 409 if another project uses its new id before the commit, even if that project has deleted its task`, async () => {
    for (const isDeleted of [true, false]) {
      const id = newId()
      const create = await send(...createOf(id))
      await make(ada, '/tasks', { id, title: 'Sooner', projectId: project.id })
      if (isDeleted) expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
      const message = expect.stringContaining(taken)
      expect(await status(create())).toMatchObject({ status: 409, message })
      if (!isDeleted) expect((await ada.get(`/tasks/${id}`)).body.title).toBe('Sooner')
    }
    expect(await faultsOf(sql)).toEqual([])
  })

test('only one of several concurrent creates with the same id succeeds, and the other commands in the same commit succeed', async () => {
  const id = newId()
  const kinds = Object.values(creates).filter((_, n) => n !== 4)
  const sent = await Promise.all(kinds.map((createOf) => send(...createOf(id))))
  const others = Promise.all(
    kinds.map((_, n) => make(ada, '/tasks', { title: `T ${n}`, projectId: project.id })),
  )
  const answers = await Promise.all(sent.map((create) => status(create())))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  expect(await others).toHaveLength(4)
  expect(await faultsOf(sql)).toEqual([])
})

test('the id of a rejected create can be used again', async () => {
  const id = newId()
  const late = await send('task.create', { id, projectId: elsewhere.id, title: 'Own' })
  const rejected = await ada.post('/tasks', { id, title: 'Own', projectId: project.id, assigneeId: newId() })
  expect(rejected.status).toBe(400)
  expect(await late()).toMatchObject({ status: 201 })
})
