import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './source.ts'

/** What a newcomer types: `put` in the place of `find`, which stands in the file once. */
export interface Edit {
  path: string
  find: string
  put: string
}

const below = (path: string, find: string, put: string): Edit => ({ path, find, put: `${find}\n${put}` })
const before = (path: string, find: string, put: string): Edit => ({ path, find, put: `${put}${find}` })

export const newField: Edit[] = [
  before(
    'drizzle/schema/tasks.ts',
    "assigneeId: uuid('assignee_id')",
    "estimateMinutes: integer('estimate_minutes'),\n    ",
  ),
  below(
    'modules/tasks/schema.ts',
    'export const fields = {',
    "  estimateMinutes: field.of(Nullable(Type.Integer({ minimum: 1, description: 'A whole number of minutes' })), Type.Union([Type.Integer(), Type.Null()], { examples: [90] }), null),",
  ),
]

export const newCommand: Edit[] = [
  before(
    'modules/tasks/schema.ts',
    'export const UnassignTasks = Input({',
    "export const FinishTask = Input({ id: IdOf('task') })\n",
  ),
  before('modules/tasks/commands.ts', 'CreateTask, ', 'FinishTask, '),
  before(
    'modules/tasks/commands.ts',
    '/** Unassigns the tasks of a removed member',
    `export const finishTask = command('task.finish', {
  input: FinishTask,
  target: ofTask(),
  role: 'EDITOR',
  decide(state, context, { id }) {
    const fields = { status: 'DONE', updatedAt: context.now } as const
    const change = updated(state, context, 'task.updated', state.requireRow('task', id), fields)
    return { changes: [change], answer: change.after }
  },
  view: taskView,
})

`,
  ),
  before('modules/tasks/routes.ts', 'createTask, deleteTask', 'finishTask, '),
  below(
    'modules/tasks/routes.ts',
    '  writes: [',
    "    ['post', '/tasks/:id/finish', finishTask, 'Finish a task'],",
  ),
]

export async function copyTree(folder: string, edits: Edit[]): Promise<void> {
  for (const part of [
    'src',
    'modules',
    'workers',
    'drizzle',
    'docs',
    'test',
    'package.json',
    'tsconfig.json',
  ])
    await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const { path, find, put } of edits) {
    const [start, end, ...more] = (await readFile(join(folder, path), 'utf8')).split(find)
    if (end === undefined || more.length > 0) throw new Error(`${path} does not have "${find}" once`)
    await writeFile(join(folder, path), [start, end].join(put))
  }
}
