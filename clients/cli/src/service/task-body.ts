import type { Docket } from '../../../typescript/src/index.ts'
import { type Cli, readInput } from '../cli.ts'
import type { Values } from '../command.ts'
import { usageError } from '../failure.ts'
import { fieldValues } from './field-values.ts'
import { findLabels, findTask, findUser, partsOf } from './find.ts'

export const statuses = ['TODO', 'IN_PROGRESS', 'DONE'] as const
export const priorities = ['LOW', 'MEDIUM', 'HIGH'] as const
const places = ['first', 'last'] as const

/** The options of `add` and `edit`. */
export const taskArguments = {
  description: { type: 'string', description: 'The description; - reads standard input' },
  status: { type: 'string', valueHint: statuses.join('|'), description: 'The status' },
  priority: { type: 'string', valueHint: priorities.join('|'), description: 'The priority' },
  due: {
    type: 'string',
    valueHint: 'date',
    description: 'A date, or a time such as 2031-05-01T09:00:00+02:00',
  },
  'remind-at': {
    type: 'string',
    valueHint: 'time',
    description: 'When the service records the event task.reminded',
  },
  assignee: { type: 'string', valueHint: 'user', description: 'me, or the name, email or id of a member' },
  labels: { type: 'string', valueHint: 'labels', description: 'Names or ids, separated by commas' },
  'blocked-by': { type: 'string', valueHint: 'tasks', description: 'The tasks that must be done first' },
  'external-id': { type: 'string', valueHint: 'text', description: 'The id of the task in another system' },
  fields: { type: 'string', valueHint: 'key=value,...', description: 'Values of custom fields' },
  before: { type: 'string', valueHint: 'task', description: 'Place the task directly before this task' },
  after: { type: 'string', valueHint: 'task', description: 'Place the task directly after this task' },
  place: { type: 'string', valueHint: places.join('|'), description: 'Place the task first or last' },
} as const

/** Returns the value of `allowed` that equals the text, without regard to case and hyphens. @throws Failure 2 */
export function oneOf<T extends string>(name: string, text: string | undefined, allowed: readonly T[]) {
  if (text === undefined) return undefined
  const plain = (one: string) => one.replaceAll('-', '_').toLowerCase()
  const found = allowed.find((one) => plain(one) === plain(text))
  if (!found) throw usageError(`--${name} must be one of ${allowed.join(', ')}`)
  return found
}

/** Returns null for an empty text, which clears a field. */
const orNull = (text: string | undefined) => (text === '' ? null : text)

type Given = Partial<Values<typeof taskArguments>>

/** Returns the fields of a task that the options set. @param projectOf returns the id of the project */
export async function taskBody(cli: Cli, docket: Docket, args: Given, projectOf: () => Promise<string>) {
  const task = async (text: string | undefined) =>
    text === undefined ? undefined : findTask(cli, docket, text, await projectOf())
  const assignee = orNull(args.assignee)
  const body = {
    description: args.description === '-' ? await readInput(cli) : orNull(args.description),
    status: oneOf('status', args.status, statuses),
    priority: oneOf('priority', args.priority, priorities),
    dueDate: orNull(args.due),
    remindAt: orNull(args['remind-at']),
    assigneeId: assignee ? await findUser(docket, assignee, projectOf) : assignee,
    externalId: orNull(args['external-id']),
    labelIds: await labelsIn(docket, args.labels, projectOf),
    blockedByIds: await tasksIn(cli, docket, args['blocked-by'], projectOf),
    fields: args.fields === undefined ? undefined : await fieldValues(docket, await projectOf(), args.fields),
    before: await task(args.before),
    after: await task(args.after),
    place: oneOf('place', args.place, places),
  }
  return withoutAbsent(body)
}

type Present<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

export const withoutAbsent = <T extends object>(body: T): Present<T> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Present<T>

export const labelsIn = async (docket: Docket, text: string | undefined, projectOf: () => Promise<string>) =>
  text === undefined ? undefined : findLabels(docket, text, projectOf)

export async function tasksIn(
  cli: Cli,
  docket: Docket,
  text: string | undefined,
  projectOf: () => Promise<string>,
): Promise<string[] | undefined> {
  if (text === undefined) return undefined
  const ids: string[] = []
  for (const one of partsOf(text)) ids.push(await findTask(cli, docket, one, await projectOf()))
  return ids
}
