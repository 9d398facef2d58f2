import { taskFields as fields } from '../../../typescript/src/declarations.ts'
import type { Docket } from '../../../typescript/src/index.ts'
import { type Cli, readInput } from '../cli.ts'
import { usageError } from '../failure.ts'
import { findLabels, findTask, findUser, partsOf } from './find.ts'

/** A field of a task, as the OpenAPI document describes it. */
export interface TaskField {
  name: string
  kind: string
  option: string
  about: string
  isInLists?: boolean
  isFilter?: boolean
  bounds?: readonly [from: string, to: string]
  /** The values of a choice. */
  values?: readonly string[]
}
export const taskFields: readonly TaskField[] = fields
const places = ['first', 'last'] as const

interface FieldKind {
  hint: string
  /** Explains a value, after the description of the field. */
  explained?: string
  /** Returns the value of the option. @throws Failure 2 or 3 */
  read(text: string, field: TaskField, find: Find): unknown
}

/** How options look up what they name. */
export interface Find {
  cli: Cli
  docket: Docket
  /** Returns the id of the project. */
  projectOf(): Promise<string>
}

const asText = (text: string) => text
const booleans = ['true', 'false'] as const
const kinds: Record<string, FieldKind> = {
  text: {
    hint: 'text',
    explained: '; - reads standard input',
    read: (text, _, { cli }) => (text === '-' ? readInput(cli) : text),
  },
  name: { hint: 'text', read: asText },
  choice: { hint: 'choice', read: (text, { option, values = [] }) => oneOf(option, text, values) },
  instant: {
    hint: 'date',
    explained: ': a date, or a time such as 2031-05-01T09:00:00+02:00',
    read: asText,
  },
  wholeNumber: {
    hint: 'number',
    read(text, { option }) {
      if (/^-?\d{1,15}$/.test(text)) return Number(text)
      throw usageError(`--${option} must be a whole number`)
    },
  },
  boolean: {
    hint: booleans.join('|'),
    read: (text, { option }) => oneOf(option, text, booleans) === 'true',
  },
  user: {
    hint: 'user',
    explained: ': me, or the name, email or id of a member',
    read: (text, _, { docket, projectOf }) => findUser(docket, text, projectOf),
  },
  labels: {
    hint: 'labels',
    explained: ': names or ids, separated by commas',
    read: (text, _, { docket, projectOf }) => findLabels(docket, text, projectOf),
  },
  tasks: {
    hint: 'tasks',
    explained: ': ids or numbers, separated by commas',
    read: (text, _, find) => tasksIn(find, text),
  },
}
export const kindOf = ({ kind }: TaskField): FieldKind => kinds[kind] ?? { hint: 'text', read: asText }
export const hintOf = (field: TaskField): string => field.values?.join('|') ?? kindOf(field).hint

/** The options of `add` and `edit`. */
export const taskArguments = {
  ...Object.fromEntries(
    taskFields.map((field) => [
      field.option,
      {
        type: 'string',
        valueHint: hintOf(field),
        description: field.about + (kindOf(field).explained ?? ''),
      } as const,
    ]),
  ),
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

/** The values of options. */
export type Given = Readonly<Record<string, unknown>>

export const textIn = (args: Given, option: string): string | undefined => {
  const value = args[option]
  return typeof value === 'string' ? value : undefined
}

/** Returns the fields of a task that the options set. An empty text clears a field. */
export async function taskBody(find: Find, args: Given) {
  const { cli, docket, projectOf } = find
  const body: Record<string, unknown> = {}
  for (const field of taskFields) {
    const text = textIn(args, field.option)
    const isList = field.kind === 'labels' || field.kind === 'tasks'
    if (text !== undefined)
      body[field.name] = text === '' && !isList ? null : await kindOf(field).read(text, field, find)
  }
  const task = async (option: string) => {
    const text = textIn(args, option)
    return text === undefined ? undefined : findTask(cli, docket, text, await projectOf())
  }
  const values = textIn(args, 'fields')
  return withoutAbsent({
    ...body,
    fields: values === undefined ? undefined : await fieldValues(docket, await projectOf(), values),
    before: await task('before'),
    after: await task('after'),
    place: oneOf('place', textIn(args, 'place'), places),
  })
}

type Present<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

export const withoutAbsent = <T extends object>(body: T): Present<T> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Present<T>

export async function tasksIn({ cli, docket, projectOf }: Find, text: string): Promise<string[]> {
  const ids: string[] = []
  for (const one of partsOf(text)) ids.push(await findTask(cli, docket, one, await projectOf()))
  return ids
}

type Value = string | number | boolean | null

/** Reads `size=large,estimate=3`. Converts each value to the type of its custom field. An empty value becomes null. */
async function fieldValues(docket: Docket, projectId: string, text: string): Promise<Record<string, Value>> {
  const fields = await docket.fields.list({ projectId }).all()
  const typeOf = new Map(fields.map(({ key, type }): [string, string] => [key, type]))
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, key, value] = /^\s*([^=]+)=(.*)$/.exec(pair) ?? []
      if (key === undefined || value === undefined)
        throw usageError('--fields must be key=value, separated by commas')
      return [key, valueOf(value, typeOf.get(key))]
    }),
  )
}

/** Returns a text of the wrong type unchanged: the service rejects it. */
function valueOf(text: string, type: string | undefined): Value {
  if (text === '') return null
  if (type === 'number' && Number.isFinite(Number(text))) return Number(text)
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}
