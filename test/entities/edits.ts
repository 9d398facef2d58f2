import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from '../kit.ts'
import { newFields } from './kind-table.ts'

/** Replaces `find`, which must occur once in the file, by `put`. */
export interface Edit {
  path: string
  find: string
  put: string
}

/** A new entity, as CONTRIBUTING explains it: the files of its module and of its table, and edits of other files. */
export interface NewEntity {
  files: Record<string, string>
  edits: Edit[]
}

const below = (path: string, find: string, put: string): Edit => ({ path, find, put: `${find}\n${put}` })
const before = (path: string, find: string, put: string): Edit => ({ path, find, put: `${put}${find}` })

const indexText = (name: string, key: string) =>
  `    index('tasks_${name}').on(t.projectId, t.status, t.priority, sql\`${key}\`, t.id, t.createdAt),`

/** The fields of `kind-table.ts` and the command `task.finish`, as CONTRIBUTING explains them. */
export const fieldAndCommand: Edit[] = [
  before(
    'drizzle/schema/tasks.ts',
    "assigneeId: uuid('assignee_id')",
    newFields.map(({ name, column }) => `${name}: ${column},\n    `).join(''),
  ),
  before('drizzle/schema/tasks.ts', 'doublePrecision, index,', 'boolean, '),
  below(
    'drizzle/schema/tasks.ts',
    "  'importedAuthor',",
    newFields
      .flatMap(({ name, declaration }) => (/defaultValue: undefined/.test(declaration) ? `  '${name}',` : []))
      .join('\n'),
  ),
  below(
    'drizzle/schema/tasks.ts',
    '  (t) => [',
    newFields.flatMap(({ name, index }) => (index ? indexText(name, index) : [])).join('\n'),
  ),
  below(
    'modules/tasks/schema.ts',
    'export const fields = {',
    newFields.map(({ name, declaration }) => `  ${name}: taskField({ ${declaration} }),`).join('\n'),
  ),
  before(
    'modules/tasks/schema.ts',
    'export const UnassignTasks = Input({',
    "export const FinishTask = Input({ id: IdOf('task') })\n",
  ),
  before('modules/tasks/commands.ts', 'import { move, ', "import { FinishTask } from './schema.ts'\n"),
  before(
    'modules/tasks/commands.ts',
    'export const deleteTask =',
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

const parts = 'src modules workers drizzle clients docs test package.json tsconfig.json'.split(' ')

export async function copyTree(folder: string, files: Record<string, string>, edits: Edit[]): Promise<void> {
  for (const part of parts) await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  for (const { path, find, put } of edits) {
    const [start, end, ...more] = (await readFile(join(folder, path), 'utf8')).split(find)
    if (end === undefined || more.length > 0) throw new Error(`${path} must contain "${find}" once`)
    await writeFile(join(folder, path), [start, end].join(put))
  }
}
