import type { TaskRow } from '../../drizzle/rows.ts'
import { createTask } from '../../modules/tasks/commands.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { decide } from '../../src/commands/decide.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { faultsOf, make, makeProjects, openScene, upTo } from '../kit.ts'
import { type Context, queuedCommand } from '../support/queued-command.ts'

const { service, ada } = await openScene(['Ada'])

const create = (state: ProjectState, context: Context, title: string) => {
  const input = { projectId: state.projectId, title, priority: 'LOW' } as const
  return decide(createTask, state, { ...context, limits: { projectMembers: 1, projectWebhooks: 100 } }, input)
}

const validCommand = (projectId: string, title: string): QueuedCommand<TaskRow> =>
  queuedCommand(ada.id, { projectId, decide: (state, context) => create(state, context, title) })

type Columns = Partial<Record<keyof TaskRow, unknown>>

/** A command that writes a row that the database rejects. No real rule returns such a row. */
const invalidCommand = (projectId: string, columns: Columns): QueuedCommand<TaskRow> =>
  queuedCommand(ada.id, {
    projectId,
    decide(state, context) {
      const { changes, answer } = create(state, context, 'Poison')
      const [change] = changes
      return { changes: [{ ...change!, after: { ...answer, ...columns } as TaskRow }], answer }
    },
  })

const invalidRows: [string, Columns][] = [
  ['a missing value', { title: null }],
  ['a character that cannot be stored', { title: 'nul \0' }],
  ['an invalid date', { dueDate: 'someday' }],
  ['an invalid id', { assigneeId: 'nobody' }],
]

test.each(invalidRows)('a row with %s fails only its own command', async (_, columns) => {
  const { actors, database } = service.services
  const [hit, ...others] = (await makeProjects(ada, 3)) as [string, ...string[]]
  const run = (command: QueuedCommand<TaskRow>) => actors.run(command)
  const before = upTo(5).map((n) => run(validCommand(hit, `Before ${n}`)))
  const invalid = run(invalidCommand(hit, columns)).catch((error: Error) => error)
  const after = upTo(5).map((n) => run(validCommand(hit, `After ${n}`)))
  const elsewhere = others.flatMap((id) => upTo(5).map((n) => run(validCommand(id, `Elsewhere ${n}`))))

  expect(await invalid).toBeInstanceOf(Error)
  const rows = await Promise.all([...before, ...after])
  expect(rows.map(({ number }) => number)).toEqual(upTo(10))
  expect(await Promise.all(elsewhere)).toHaveLength(10)
  for (const [id, count] of [[hit, 10], ...others.map((other) => [other, 5])] as [string, number][])
    expect((await ada.get(`/tasks?projectId=${id}`)).body).toHaveLength(count)
  expect(await faultsOf(database.reads)).toEqual([])
})

test('if the rule of one command throws, other commands succeed', async () => {
  const { actors } = service.services
  const { id } = await make(ada, '/projects', { name: 'Broken' })
  const decide = () => {
    throw new TypeError('a defect')
  }
  const broken = actors.run(Object.assign(validCommand(id, 'Never'), { decide }))
  const whole = actors.run(validCommand(id, 'Stands'))
  expect(await broken.catch((error: Error) => error)).toBeInstanceOf(TypeError)
  expect((await whole).number).toBe(1)
})

test('if one of several changes of a command cannot be applied, nothing of the command is committed', async () => {
  const { actors, database } = service.services
  const { id } = await make(ada, '/projects', { name: 'Half' })
  const half = queuedCommand(ada.id, {
    projectId: id,
    decide(state, context) {
      const { changes, answer } = create(state, context, 'Half')
      const [change] = changes
      return { changes: [change!, { ...change!, id: context.newId(), entity: 'nothing' as 'task' }], answer }
    },
  })
  const before = actors.run(validCommand(id, 'Before'))
  const failed = actors.run(half).catch((error: Error) => error)
  const after = actors.run(validCommand(id, 'After'))
  expect(await failed).toBeInstanceOf(TypeError)
  expect([(await before).number, (await after).number]).toEqual([1, 2])
  expect((await actors.run(validCommand(id, 'Later'))).number).toBe(3)
  const { body } = await ada.get(`/projects/${id}/events`)
  expect(body.map((event) => (event as unknown as { seq: number }).seq)).toEqual([1, 2, 3, 4])
  expect(await faultsOf(database.reads)).toEqual([])
})
