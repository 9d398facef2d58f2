import { countedBy, sorts } from '../../../typescript/src/declarations.ts'
import type { Docket, Task } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { command, json, project } from '../command.ts'
import { usageError } from '../failure.ts'
import { readCount, readLimit } from '../numbers.ts'
import { collect, connect } from '../service/connect.ts'
import { fieldFilters, filtersOf, labelFilters } from '../service/filters.ts'
import { findProject, findTask, findUser, projectIfGiven, usersOf } from '../service/find.ts'
import { type Given, oneOf, textIn, withoutAbsent, type TaskField, taskFields } from '../service/task-body.ts'

const pageLimit = 200
const wordFor = (by: string) => by.replace(/Id$/, '')
const countWords = countedBy.map(wordFor)
const filters = {
  ...fieldFilters,
  ...labelFilters,
  unlabelled: { type: 'boolean', description: 'Tasks without labels' },
  ready: { type: 'boolean', description: 'Tasks that are not DONE, not claimed by others, and not blocked' },
  'claimed-by': {
    type: 'string',
    valueHint: 'user',
    description: 'Tasks claimed by this user: me, or a name, email or id; none: not claimed',
  },
  'min-attempts': {
    type: 'string',
    valueHint: 'number',
    description: 'Tasks with at least this many failed attempts',
  },
  'blocked-by': { type: 'string', valueHint: 'task', description: 'Tasks blocked by this task' },
} as const

export const tasks = command({
  name: 'tasks',
  about: 'List the tasks of a project; without a project, of all projects',
  args: {
    ...project,
    all: {
      type: 'boolean',
      description: 'List the tasks of all projects, even if there is a default project',
    },
    ...filters,
    sort: {
      type: 'string',
      valueHint: 'order',
      description: sorts.join(', '),
    },
    'as-of': {
      type: 'string',
      valueHint: 'version or time',
      description: 'Show the tasks at this version or time',
    },
    limit: { type: 'string', valueHint: 'number', description: 'At most this many tasks' },
    count: {
      type: 'string',
      valueHint: countWords.join('|'),
      description: 'Count the tasks for each value of this field, instead of the list',
    },
    ...json,
  },
  rest: 'PARAMETER=VALUE',
  examples: [
    'docket tasks --status todo --priority high',
    'docket tasks --project Engine --assignee me --sort -createdAt',
    'docket tasks --ready --json',
    'docket tasks field.size=large field.estimate.max=3',
    'docket tasks --count status --assignee me',
  ],
  async run(cli, { all, project, json, limit: given, count, _: words, ...args }) {
    const limit = readLimit(given)
    const counted = oneOf('count', count?.replace(/Id$/, ''), countWords)
    const docket = await connect(cli)
    const projectId = all && !project ? undefined : await projectIfGiven(cli, docket, project)
    const query = { ...(await queryOf(cli, docket, args, projectId)), ...parametersIn(words), projectId }
    if (counted) return printCounts(cli, docket, counted, { ...query, limit: given }, json)
    const list = docket.tasks.list(withoutAbsent({ ...query, limit: Math.min(limit, pageLimit) }))
    const rows: Task[] = await collect(cli, list, 'tasks', limit)
    if (json) return cli.out.json(rows)
    await printTasks(cli, docket, rows, projectId)
  },
})

/** Prints the number of tasks for each value of a field, with the names of people and labels. */
async function printCounts(cli: Cli, docket: Docket, word: string, query: Given, json?: boolean) {
  const projectId = textIn(query, 'projectId') ?? (await findProject(cli, docket))
  const by = countedBy.find((one) => wordFor(one) === word)
  const found = await docket.tasks.counts({ ...withoutAbsent({ ...query, by }), projectId })
  if (json) return cli.out.json(found)
  const names = new Map((await namedRows(docket, projectId, by)).map(({ id, name }) => [id, name]))
  const nameOf = (value: string | null) => (value === null ? `(no ${word})` : (names.get(value) ?? value))
  await cli.out.table(found.counts, [
    { title: word.toUpperCase(), value: ({ value }) => nameOf(value), isFlexible: true },
    { title: 'TASKS', value: ({ count }) => count },
  ])
  await cli.out.line(`${found.isExact ? 'Total' : 'At least'} ${found.total}`)
}

const namedRows = async (
  docket: Docket,
  projectId: string,
  by?: string,
): Promise<{ id: string; name: string }[]> =>
  by === 'labelId'
    ? docket.labels.list({ projectId }).all()
    : by === 'assigneeId'
      ? usersOf(docket, projectId)
      : []

async function queryOf(cli: Cli, docket: Docket, args: Given, projectId: string | undefined) {
  const projectOf = async () => projectId ?? findProject(cli, docket)
  const [blocker, claimer] = [textIn(args, 'blocked-by'), textIn(args, 'claimed-by')]
  const least = textIn(args, 'min-attempts')
  return {
    ...(await filtersOf({ cli, docket, projectOf }, args)),
    noLabel: args.unlabelled === true || undefined,
    ready: args.ready === true || undefined,
    minAttempts: least === undefined ? undefined : readCount('min-attempts', least),
    claimedBy: !claimer || claimer === 'none' ? claimer : await findUser(docket, claimer, projectOf),
    blocks: blocker === undefined ? undefined : await findTask(cli, docket, blocker, projectId),
    sort: oneOf('sort', textIn(args, 'sort'), sorts),
    asOf: textIn(args, 'as-of'),
  }
}

/** Reads arguments such as `field.size=large`, which are sent unchanged as parameters of `GET /tasks`. */
const parametersIn = (words: string[]): Record<string, string> =>
  Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at < 1)
        throw usageError(
          `Unexpected argument ${word}: a filter is an option, or a parameter like field.size=large`,
        )
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )

const columns = taskFields.filter(({ isInLists }) => isInLists)

/** Returns the value of a field, or the values of a list. */
const valuesIn = (task: Task, { name }: TaskField) =>
  [task[name as 'title'] as string | number | string[] | null].flat().filter((one) => one !== null)

/** Prints a table of tasks. @param projectId undefined if the tasks may be in several projects */
async function printTasks(cli: Cli, docket: Docket, rows: Task[], projectId?: string): Promise<void> {
  const has = (kind: string) =>
    columns.some((one) => one.kind === kind && rows.some((task) => valuesIn(task, one).length > 0))
  const [users, labels, projects] = await Promise.all([
    projectId && has('user') ? usersOf(docket, projectId) : [],
    projectId && has('labels') ? docket.labels.list({ projectId }).all() : [],
    projectId || rows.length === 0 ? [] : docket.projects.list().all(),
  ])
  const names = new Map([...users, ...labels, ...projects].map(({ id, name }) => [id, name]))
  const nameOf = (id: string | null) => (id ? (names.get(id) ?? id) : '')
  const columnOf = (field: TaskField) => {
    const hasNames = field.kind === 'user' || field.kind === 'labels'
    const shown = (value: string | number) =>
      hasNames ? nameOf(String(value)) : String(value).replace(/T00:00:00.000Z$/, '')
    const value = (task: Task) => valuesIn(task, field).map(shown).join(', ')
    return { title: field.option.toUpperCase(), value, isFlexible: hasNames }
  }
  await cli.out.table(rows, [
    { title: 'PROJECT', value: (task) => (projectId ? '' : nameOf(task.projectId)), isFlexible: true },
    { title: '#', value: ({ number }) => number },
    ...columns.filter(({ kind }) => kind !== 'labels').map(columnOf),
    { title: 'CLAIM', value: ({ claim }) => claim?.by.name, isFlexible: true },
    ...columns.filter(({ kind }) => kind === 'labels').map(columnOf),
    { title: 'TITLE', value: ({ title }) => title, isFlexible: true },
  ])
  if (rows.length === 0) await cli.err.line('No tasks')
}
