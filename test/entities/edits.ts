import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readYaml, root } from '../kit.ts'

/** A change of the project, as CONTRIBUTING explains it: new files, and edits of other files. */
interface Change {
  files?: Record<string, string>
  /** Each edit replaces `find`, which must occur once in the file, by `put`. */
  edits: { path: string; find: string; put: string }[]
}

type Value = string | number | boolean

interface NewField {
  name: string
  kind: string
  column: string
  declaration: string
  index?: string
  values: [Value, Value, Value]
  none?: Value | null
  wrong: unknown[]
  header?: string
  bounds?: [from: string, to: string]
}

const parse = (name: string) => readYaml(`test/entities/${name}.yaml`)

export const newFields = parse('fields') as NewField[]
export const [command, tag, workLog] = ['command', 'tag', 'work-log'].map(parse) as [Change, Change, Change]

const linesOf = (lineOf: (field: NewField) => string | false | undefined) =>
  newFields.flatMap((field) => lineOf(field) || []).join('\n')
const below = (path: string, find: string, lines: string) => ({ path, find, put: `${find}\n${lines}` })
const columns = 'drizzle/schema/tasks.ts'
const firstColumn = "    assigneeId: uuid('assignee_id')"

/** The fields of `fields.yaml` and the command of `command.yaml`. */
export const fieldsAndCommand: Change = {
  edits: [
    {
      path: columns,
      find: firstColumn,
      put: `${linesOf(({ name, column }) => `    ${name}: ${column},`)}\n${firstColumn}`,
    },
    { path: columns, find: 'doublePrecision, index,', put: 'boolean, doublePrecision, index,' },
    below(
      columns,
      "  'importedAuthor',",
      linesOf(({ name, declaration }) => /defaultValue: undefined/.test(declaration) && `  '${name}',`),
    ),
    below(
      columns,
      '  (t) => [',
      linesOf(
        ({ name, index }) =>
          index &&
          `    index('tasks_${name}').on(t.projectId, t.status, t.priority, sql\`${index}\`, t.id, t.createdAt),`,
      ),
    ),
    below(
      'modules/tasks/schema.ts',
      'export const fields = {',
      linesOf(({ name, declaration }) => `  ${name}: taskField({ ${declaration} }),`),
    ),
    ...command.edits,
  ],
}

const parts = 'src modules workers drizzle clients docs test package.json tsconfig.json'.split(' ')

/** Copies the project into a folder, with these changes. */
export async function copyProject(folder: string, ...changes: Change[]): Promise<void> {
  for (const part of parts) await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [path, text] of changes.flatMap(({ files = {} }) => Object.entries(files))) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  for (const { path, find, put } of changes.flatMap(({ edits }) => edits)) {
    const [start, end, ...more] = (await readFile(join(folder, path), 'utf8')).split(find)
    if (end === undefined || more.length > 0) throw new Error(`${path} must contain "${find}" once`)
    await writeFile(join(folder, path), [start, end].join(put))
  }
}
