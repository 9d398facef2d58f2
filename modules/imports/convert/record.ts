import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { definitionOf } from '../../../src/model/model.ts'
import { caseless, isNameSchema, nameFrom, parseInstant, withoutNull } from '../../../src/schema/text.ts'
import { CreateLabel } from '../../labels/schema.ts'
import { csvColumns } from '../../exports/cells.ts'
import type { AnyField } from '../../tasks/kinds.ts'
import { CreateTask, headerOf, maxIds, taskFields } from '../../tasks/schema.ts'
import type { TaskOperation } from '../command/operations.ts'
import type { ChildItem, ImportedPerson, SubtaskItem, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import type { Source } from '../sources.ts'
import { type FieldSpec, valuesOf } from './fields.ts'
import { statusOf } from './names.ts'
import type { Notes } from './notes.ts'
import { type People, textOfPerson } from './people.ts'
import { cut, isBlank, nameIn } from './texts.ts'

export interface ConvertContext {
  source: Source
  mapping: Mapping
  people: People
  /** The account that imports. */
  userId: string
  /** The ids of labels by their names, as `caseless` returns them. */
  labels: ReadonlyMap<string, string>
  fields: ReadonlyMap<string, FieldSpec>
  /** Earlier reminders are left out. It is some seconds from now: at the commit, a reminder must be in the future. */
  firstReminder: string
  /** Later times of subtasks and comments are replaced by this time. */
  now: string
}

const untitled = 'Untitled'
const maxAuthor = 200
const maxLine = 1_000
const maxLabelName = CreateLabel.properties.name.maxLength as number

/** The names of fields in the foot of descriptions, if these names differ from the names in items. */
const shownNames: Record<string, string> = { dueDate: 'Due', remindAt: 'Reminder', blockedBy: 'Blocked by' }
const shownName = (name: string): string => shownNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1)

type Values = Record<string, unknown>

/**
 * Returns the fields of the operation that imports a task. Adds values without a field to `notes`.
 * @param addLast adds the last lines of the description, about the parent and the sub-items of the task
 */
export function convertTask(
  item: TaskItem,
  context: ConvertContext,
  notes: Notes,
  addLast: () => void = () => {},
): Omit<TaskOperation, 'op' | 'id' | 'externalId'> {
  const list = item.list && !isBlank(item.list) ? item.list : undefined
  const listStatus = list === undefined ? undefined : statusOf(list, context.mapping)
  const labels = listStatus === null ? [list!, ...(item.labels ?? [])] : item.labels
  const given: Values = {
    ...item,
    labels,
    status: item.status ?? (listStatus === null ? 'TODO' : listStatus),
  }
  const values: Values = { title: nameOf('title', item.title, CreateTask.properties.title, notes) }
  for (const [name, field] of taskFields) {
    const header = headerOf(name, field)
    if (name === 'description' || name === 'externalId' || name === 'blockedByIds') continue
    if (given[header] == null) continue
    if (field.kind?.is === 'user')
      values[name] = userOf(header, given[header] as ImportedPerson, context, notes)
    else if (field.reference) values[name] = labelIdsOf(given[header] as string[], context, notes)
    else if (field.kind?.is === 'instant')
      values[name] = instantOf(shownName(header), given[header] as string, notes)
    else if (accepts(field, given[header])) values[name] = valueOf(field, given[header])
    else {
      const text = String(given[header]).trim()
      notes.addToFoot(`${header}: ${cut(text, maxLine)}`, `${header} does not accept "${cut(text, 100)}"`)
    }
  }
  values.remindAt = reminderOf(values.remindAt as string | undefined, context, notes)
  values.fields = item.fields && valuesOf(item.fields, context.fields, notes)
  for (const note of item.notes ?? []) if (!isBlank(note)) notes.addToFoot(note.trim())
  const createdAt = instantOf('Created', item.createdAt, notes)
  addLast()
  values.description = notes.describe(item.description)
  const emptied = item.isExported ? withEmptyValues(values, item, context) : values
  return withoutAbsent({ ...emptied, createdAt, ...authorOf(item, context) }) as ReturnType<
    typeof convertTask
  >
}

const valueOf = ({ kind, input }: AnyField, given: unknown): unknown =>
  typeof given === 'string' && kind?.fromText ? kind.fromText(given, withoutNull(input)) : given

function accepts(field: AnyField, given: unknown): boolean {
  const value = valueOf(field, given)
  return value !== undefined && Value.Check(field.input, value)
}

/** Adds an empty value for each missing value, because an export of Docket contains all values of a task. */
function withEmptyValues(values: Values, item: TaskItem, context: ConvertContext): Values {
  const { source, fields, mapping } = context
  const all = { ...values }
  for (const [name, field] of taskFields) {
    const { defaultValue = null, reference } = field
    const header = headerOf(name, field)
    // A file of an earlier release does not have all fields.
    const isInFile = csvColumns.includes(header) || (item as unknown as Values)[header] === null
    if (reference) all[name] ??= []
    else if (name !== 'externalId' && defaultValue === null && isInFile) all[name] ??= null
  }
  // The step `links` sets other lists.
  if (item.blockedBy?.length) delete all.blockedByIds
  // A CSV file may lack the column of a field.
  const columns = source === 'csv' ? Object.values(mapping.columns ?? {}) : undefined
  const inFile = [...fields.keys()].filter((key) => !columns || columns.includes(`field.${key}`))
  const empty = Object.fromEntries(inFile.map((key) => [key, null]))
  return { ...all, fields: { ...empty, ...(values.fields as object | undefined) } }
}

/** Returns undefined if the child has no text. */
export function convertChild(
  item: ChildItem,
  context: ConvertContext,
  notes: Notes,
): (Values & Pick<TaskOperation, 'createdAt' | 'importedAuthor'>) | undefined {
  const { asChild, person, references = {} } = definitionOf(item.kind)
  const values: Values = {}
  for (const [name, schema] of Object.entries(asChild!.input.properties)) {
    const given = (item as unknown as Values)[name]
    if (name === 'id' || name in references) continue
    if (typeof given !== 'string') values[name] = given
    else if (isNameSchema(schema)) values[name] = nameOf(name, given, schema, notes)
    else if (name !== asChild!.text) values[name] = given
    else if (isBlank(given)) {
      notes.report(`The ${item.kind} has no ${name}`)
      return undefined
    } else values[name] = textOf(item.kind, given.trim(), schema, notes)
  }
  const createdAt = pastOf(item, context, notes)
  return withoutAbsent({ ...values, createdAt, ...(person && authorOf(item, context)) })
}

function textOf(kind: string, text: string, { maxLength }: TSchema, notes: Notes): string {
  const fitting = cut(text, maxLength as number).trim()
  if (fitting !== text) notes.report(`The ${kind} was cut at ${maxLength} characters`)
  return fitting
}

/** A title that is too long is also a line of the description. */
function nameOf(field: string, text: string, { maxLength }: TSchema, notes: Notes): string {
  const name = nameIn(text, maxLength as number)
  if (name === undefined) {
    notes.report(`The empty ${field} was replaced by "${untitled}"`)
    return untitled
  }
  if (name === text.trim()) return name
  if (name === nameFrom(text)) notes.report(`Control characters in the ${field} were replaced by spaces`)
  else
    notes.addToFoot(
      `${shownName(field)}: ${nameFrom(text)}`,
      `The ${field} was cut at ${maxLength} characters`,
    )
  return name
}

/** The importing account is the author of its own rows. */
function authorOf({ author }: Pick<TaskItem, 'author'>, { people, userId }: ConvertContext) {
  if (!author || people.find(author)?.id === userId) return {}
  return { importedAuthor: nameIn(author.name || author.email || '', maxAuthor) }
}

function instantOf(name: string, given: string | undefined, notes: Notes): string | undefined {
  if (given === undefined || isBlank(given)) return undefined
  const instant = parseInstant(given.trim())
  if (instant === null)
    notes.addToFoot(
      `${name}: ${cut(given, 100)}`,
      `${name}: "${cut(given, 100)}" is not a date from year 1 to 9999`,
    )
  return instant ?? undefined
}

/** Lists sort children by their times, so a time in the future would put a child after all later children. */
function pastOf({ kind, createdAt }: ChildItem, { now }: ConvertContext, notes: Notes): string | undefined {
  const instant = instantOf('Created', createdAt, notes)
  if (!instant || instant <= now) return instant
  notes.report(
    `The time ${instant} of the ${kind} is in the future: it was replaced by the time of the import`,
  )
  return now
}

function reminderOf(
  instant: string | undefined,
  { firstReminder }: ConvertContext,
  notes: Notes,
): string | undefined {
  if (!instant || instant >= firstReminder) return instant
  notes.report(`The reminder was left out, because its time ${instant} has passed or is near`)
  return undefined
}

function userOf(
  header: string,
  given: ImportedPerson,
  { people }: ConvertContext,
  notes: Notes,
): string | undefined {
  const person = people.find(given)
  const name = cut(given.name || given.email || '', maxAuthor)
  if (!person && !isBlank(name))
    notes.addToFoot(
      `${shownName(header)}: ${cut(textOfPerson(given), 2 * maxAuthor)}`,
      `The ${header} "${name}" is not a member of the project`,
    )
  return person?.id
}

function labelIdsOf(names: string[], { labels }: ConvertContext, notes: Notes): string[] | undefined {
  const ids = new Set<string>()
  for (const name of names) {
    const label = nameIn(name, maxLabelName)
    if (label === undefined) {
      if (name !== '') notes.report('A label without visible characters was left out')
      continue
    }
    const id = labels.get(caseless(label))
    if (id === undefined || (ids.size === maxIds && !ids.has(id)))
      notes.addToFoot(
        `Label: ${label}`,
        `The ${id ? 'task' : 'project'} has no space for the label "${label}"`,
      )
    else ids.add(id)
    if (label !== name.trim())
      notes.addToFoot(
        `Label: ${cut(name.trim(), 500)}`,
        `The name of the label "${label}" was cut at ${maxLabelName} characters`,
      )
  }
  return ids.size > 0 ? [...ids] : undefined
}

const withoutAbsent = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

/** People refer to issues of Jira and Linear by keys such as `DOIT-42`. */
const issueKey = /^[A-Z][A-Z0-9_]{0,19}-\d{1,9}$/

/**
 * Returns a sub-item as a subtask. `line` has the values without a field of subtasks, for the task's description.
 * @param isListOfTask true if the task is in the same list
 */
export function subtaskOf(
  item: TaskItem,
  { mapping, fields }: Pick<ConvertContext, 'mapping' | 'fields'>,
  isListOfTask = false,
): { subtask: SubtaskItem; line?: string } {
  const { row, key, parent = '', title, createdAt, orderMs, messages = [] } = item
  const listStatus = item.list ? statusOf(item.list, mapping) : undefined
  const status = item.status ?? listStatus
  const values = taskFields.flatMap(([name, field]): [string, unknown][] => {
    const header = headerOf(name, field)
    const isShown = name !== 'status' && name !== 'externalId' && name !== 'description'
    return isShown ? [[shownName(header), textOfValue((item as unknown as Values)[header])]] : []
  })
  const parts: [string, unknown][] = [
    ['Key', issueKey.test(key) ? key : undefined],
    ['List', listStatus === null && !isListOfTask ? item.list : undefined],
    ['Status', status === 'IN_PROGRESS' ? status : undefined],
    ...values,
    ['Author', item.author?.name || item.author?.email],
    ...Object.entries(item.fields ?? {}).map(([name, value]): [string, unknown] => [
      fields.get(name)?.name ?? name,
      value,
    ]),
  ]
  const texts = parts.flatMap(([name, value]) =>
    value === undefined || isBlank(String(value)) ? [] : `${name}: ${value}`,
  )
  const rest = [...texts, ...(item.notes ?? []).filter((note) => !isBlank(note))].join('; ')
  const all = rest ? [...messages, `At the foot of the task's description: ${cut(rest, maxLine)}`] : messages
  const subtask = withoutAbsent<SubtaskItem>({
    ...{ kind: 'subtask', row, task: parent, key, title, completed: status === 'DONE', createdAt, orderMs },
    messages: all.length > 0 ? all : undefined,
  })
  return rest ? { subtask, line: cut(`Subtask "${cut(title.trim(), 100)}": ${rest}`, maxLine) } : { subtask }
}

function textOfValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' && value !== null ? textOfPerson(value as ImportedPerson) : value
}
