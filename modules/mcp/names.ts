import { canonicalId, isIdInAnyCase } from '../../src/id-format.ts'
import { editNames } from '../../src/model/fields.ts'
import { nearest } from '../../src/schema/validation.ts'
import { caseless, visualForm } from '../../src/schema/text.ts'
import { headerOf, namedFields, taskFields, userFields } from '../tasks/schema.ts'
import { shortened } from './pages.ts'
import { type Call, ToolError } from './tool.ts'

type Kind = 'project' | 'user' | 'member' | 'label' | 'field' | 'view'

/** The fields that may contain names of users or of labels in place of ids. */
const users = ['actor', 'exceptActor', 'claimedBy', ...userFields]
const labelFields = namedFields.flatMap(([name]) => (userFields.includes(name) ? [] : [name]))
const labels = ['labels', 'anyLabel', ...labelFields, ...labelFields.flatMap(editNames)]

function kindOf(field: string, value: unknown, op: string): Kind | undefined {
  const noun = op.slice(0, op.indexOf('.'))
  if (field === 'id' && ['label', 'field', 'view'].includes(noun)) return noun as Kind
  if (field === 'memberId') return 'member'
  if (users.includes(field)) return field === 'claimedBy' && value === 'none' ? undefined : 'user'
  return labels.includes(field) ? 'label' : undefined
}

/** Returns false for an id and for the `#name` of an earlier operation. */
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !value.startsWith('#') && !isIdInAnyCase(value)

/** Replaces names in an operation or in other arguments by ids. @throws ToolError 404, 409 */
export async function withIds(call: Call, projectId: string, given: object, place = { op: '', path: '' }) {
  const fields: Record<string, unknown> = { ...given }
  for (const [field, value] of Object.entries(fields)) {
    const kind = kindOf(field, value, place.op)
    if (!kind || ![value].flat().some(isName)) continue
    const rows = await rowsOf(call, kind, `/projects/${projectId}`)
    const replace = (one: unknown) => (isName(one) ? idOf(kind, one, rows, `${place.path}${field}: `) : one)
    fields[field] = Array.isArray(value) ? value.map(replace) : replace(value)
  }
  return fields
}

/** Returns the arguments of a tool with ids in place of names. @throws ToolError 400, 404, 409 */
export async function withIdsInArguments(call: Call, args: { project?: string }): Promise<object> {
  if (args.project !== undefined) {
    const project = isIdInAnyCase(args.project)
      ? canonicalId(args.project)
      : idOf('project', args.project, await rowsOf(call, 'project'))
    return withIds(call, project, { ...args, project })
  }
  // `me` has the same meaning in all projects.
  const needsProject = ([field, value]: [string, unknown]) =>
    kindOf(field, value, '') && [value].flat().some((one) => isName(one) && one !== 'me')
  if (!Object.entries(args).some(needsProject)) return args
  const advice = 'Pass project too, or ids in place of names'
  throw new ToolError(400, 'Names of users and labels need a project', advice)
}

interface Row {
  id: string
  name: string
  key?: string
}
type Person = (Row & { email: string }) | null

/** A row with the names that an agent may write in place of its id. */
interface NamedRow {
  id: string
  names: string[]
  /** Names that no other row has. They take precedence, because a user may choose the email of another user as a name. */
  ownNames: string[]
}

/** @param path of the project */
const readProject = (call: Call, path: string) =>
  call.once(path, async () => (await call.get<Row & { owner: Person }>(path)).body)

/** Returns the rows that may be named, at most 2,000 of a list. @param path of the project */
const rowsOf = (call: Call, kind: Kind, path = '') =>
  call.once(`${path} ${kind}`, () => readRows(call, kind, path))

async function readRows(call: Call, kind: Kind, path: string): Promise<NamedRow[]> {
  if (kind !== 'user' && kind !== 'member') {
    const rows = await readAll<Row>(call, `${path}/${kind}s`)
    return rows.map(({ id, name, key }) => ({ id, names: key ? [key, name] : [name], ownNames: [] }))
  }
  const members = await readAll<{ id: string; user: Person }>(call, `${path}/members`)
  if (kind === 'user') members.unshift({ id: '', user: (await readProject(call, path)).owner })
  return members.flatMap(({ id, user }) => {
    if (!user) return []
    const ownNames = user.id === call.userId ? [user.email, 'me'] : [user.email]
    return { id: kind === 'user' ? user.id : id, names: [user.name], ownNames }
  })
}

/** The names of a project, of its users and of its labels, by id. */
type Names = ReadonlyMap<string, string>

/** The maximum number of lists that one call reads: of 20 projects. The answer shows ids for tasks of further projects. */
const maxLists = 80

export function namesOf(call: Call, projectId: string): Promise<Names> {
  const path = `/projects/${projectId}`
  if (call.results.size >= maxLists) return Promise.resolve(new Map())
  return call.once(`${path} names`, async () => {
    const { id, name } = await readProject(call, path)
    const rows = await Promise.all([rowsOf(call, 'user', path), rowsOf(call, 'label', path)])
    return new Map([[id, name], ...rows.flat().map((row) => [row.id, row.names[0]!] as const)])
  })
}

const pageRows = 200
const maxRows = 2_000

/** Returns the rows of a list, at most 2,000. */
async function readAll<Row>(call: Call, path: string): Promise<Row[]> {
  const rows: Row[] = []
  for await (const { body } of call.pages<Row>(path, pageRows)) if (rows.push(...body) >= maxRows) break
  return rows
}

const maxCandidates = 10
/** Characters of a name in an error. */
const maxShown = 100

/** Returns the id of the only row with this name. @throws ToolError 400, 404 or 409, which lists candidates */
function idOf(noun: Kind, given: string, rows: NamedRow[], path = ''): string {
  const failed = (status: number, message: string, advice: string, found?: NamedRow[]) =>
    new ToolError(status, `${path}${message}`, advice, found && { candidates: candidatesIn(found) })
  // A row that was not read may have the same name.
  const tooMany = `A name cannot be looked up, because the list has ${maxRows} rows or more`
  if (rows.length >= maxRows) throw failed(400, tooMany, 'Pass the id in place of the name')
  const wanted = caseless(visualForm(given))
  const hasName = (names: string[]) => names.some((name) => caseless(visualForm(name)) === wanted)
  const own = rows.filter(({ ownNames }) => hasName(ownNames))
  const isEmail = given.includes('@') && rows.some(({ ownNames }) => ownNames.length > 0)
  const found = own.length > 0 || isEmail ? own : rows.filter(({ names }) => hasName(names))
  if (found.length === 1) return found[0]!.id
  const shownName = given.slice(0, maxShown)
  const name = JSON.stringify(shownName)
  if (found.length > 1)
    throw failed(409, `${found.length} ${noun}s have the name ${name}`, 'Pass the id of a candidate', found)
  const similar = nearest(shownName, rows.flatMap(allNames))
  const suggestion = similar === undefined ? '' : `; did you mean ${similar}?`
  const advice = `Pass the name or the id of a candidate${otherAdvice[noun] ?? ''}`
  const mostSimilar = rows.filter((row) => allNames(row).includes(similar!))
  const candidates = [...new Set([...mostSimilar, ...rows])]
  throw failed(404, `No ${noun} has the name or id ${name}${suggestion}`, advice, candidates)
}

const otherAdvice: Partial<Record<Kind, string>> = {
  project: ', or list all with projects',
  label: ', or create it with label.create',
  user: ', or invite the user with member.invite',
}

const allNames = ({ names, ownNames }: NamedRow): string[] => [...names, ...ownNames]

const candidatesIn = (rows: NamedRow[]) =>
  rows
    .slice(0, maxCandidates)
    .map((row) => ({ id: row.id, names: allNames(row).map((name) => name.slice(0, maxShown)) }))

export const details = ['lines', 'preview', 'full'] as const
export type Detail = (typeof details)[number]

const titleCharacters = 120
const previewCharacters = 200

export interface Task {
  id: string
  projectId: string
  title: string
  description: string | null
  fields: Record<string, unknown>
  claim: { by: { name: string | null }; until: string; seq: number } | null
  [field: string]: unknown
}

const fieldsIn = (detail: Detail) =>
  taskFields.flatMap(([name, { lists }]) => (lists === detail ? [name] : []))
const inLines = ['number', ...fieldsIn('lines')]
const inPreview = [...inLines, ...fieldsIn('preview'), 'fields', 'updatedAt']

/** The maximum number of characters of all custom fields of a task, each of which may have 20,000 characters. */
const maxFieldCharacters = 3_000

/** Returns all fields of a task, also the names of people and labels. Values of custom fields are cut. */
export function allFields(task: Task, names: Names): Task {
  const values = Object.entries(task.fields)
  const max = Math.floor(maxFieldCharacters / values.length)
  const short = (value: unknown) => (typeof value === 'string' ? shortened(value, max) : value)
  const fields = Object.fromEntries(values.map(([key, value]) => [key, short(value)]))
  return { ...task, ...withNames(task, names), fields }
}

/** Returns a task as lists show it. Only `full` contains ids of people and labels, and empty fields. */
export function shownTask(given: Task, detail: Detail, names: Names): object {
  const task = allFields(given, names)
  const { id, title, claim } = task
  const description = task.description ?? ''
  if (detail === 'full') return { ...task, description: task.description && shortened(description) }
  const isPreview = detail === 'preview'
  const shown = (isPreview ? inPreview : inLines).map((name) => [name, task[name]])
  return withoutEmpty({
    id,
    title: isPreview ? title : shortened(title, titleCharacters),
    ...withNames(Object.fromEntries(shown), names),
    claimedBy: claim && (claim.by.name ?? 'a deleted account'),
    ...(isPreview && { description: shortened(description, previewCharacters) }),
  })
}

/** Returns fields with names of people and labels in place of ids. @param shown returns the shown value of another field */
export function withNames(
  fields: object,
  names: Names,
  shown = (value: unknown): unknown => value,
): Record<string, unknown> {
  const nameOf = (id: string | null) => id && (names.get(id) ?? id)
  const entries = Object.entries(fields).map(([name, value]): [string, unknown] => {
    const named = namedFields.find(([field]) => field === name)
    if (!named) return [name, shown(value)]
    return [headerOf(...named), Array.isArray(value) ? value.map(nameOf) : nameOf(value)]
  })
  return Object.fromEntries(entries)
}

/** Returns the fields that are not null and not empty. */
export function withoutEmpty(fields: object): object {
  const isEmpty = (value: unknown) =>
    value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))
}

const maxValueCharacters = 200

export interface Event {
  id: string
  /** Only in the history of a task, which may contain events of several projects. */
  projectId?: string
  seq: number
  type: string
  entityId: string
  taskId: string | null
  batch: number | null
  undoes?: number
  failed?: boolean
  reason?: string | null
  /** Null for an event of the service itself or of a deleted account. */
  actor: { name: string | null }
  at: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Fields that an agent does not need to understand a change. */
const omitted = [
  ...['id', 'projectId', 'taskId', 'userId', 'authorId', 'author', 'authorRemoved'],
  ...['number', 'createdAt', 'updatedAt', 'position'],
]

/** True if the event contains ids that the answer shows as names. */
export const hasNames = ({ before, after }: Event): boolean =>
  [before, after].some((row) => namedFields.some(([name]) => [row?.[name] ?? []].flat().length > 0))

/** Returns an event as answers show it: `batch` is the argument of `undo`. Long texts are cut. */
export function shownEvent(event: Event, names: Names): object {
  const { seq, type, entityId, taskId, actor, at, batch, undoes, failed, reason } = event
  const before = event.before && shownFields(event.before, names)
  const after = event.after && shownFields(event.after, names)
  const pairOf = (name: string) => [name, [before?.[name], after?.[name]]]
  return {
    ...{ seq, type, id: entityId },
    ...(taskId && taskId !== entityId && { taskId }),
    ...{ by: actor.name, at, batch: batch ?? seq, undoes },
    ...(failed && { failed, reason }),
    ...(before && after
      ? { changed: Object.fromEntries(Object.keys(before).map(pairOf)) }
      : { row: withoutEmpty(after ?? before ?? {}) }),
  }
}

function shownFields(fields: object, names: Names): Record<string, unknown> {
  const kept = Object.entries(fields).filter(([name]) => !omitted.includes(name))
  return withNames(Object.fromEntries(kept), names, shortValue)
}

/** Cuts a long text. A long array becomes its length: `task.moved_in` contains all subtasks and comments of a task. */
function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, maxValueCharacters)
  const text = JSON.stringify(value) ?? ''
  if (text.length <= maxValueCharacters) return value
  return Array.isArray(value) ? `${value.length} rows` : shortened(text, maxValueCharacters)
}
