import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { definitionOf } from '../../../src/model/model.ts'
import { caseless, isNameSchema, nameFrom, parseInstant, withoutNull } from '../../../src/schema/text.ts'
import { csvColumns, nameInFile } from '../../exports/cells.ts'
import type { AnyField } from '../../tasks/kinds.ts'
import { CreateTask, headerOf, maxIds, taskFields } from '../../tasks/schema.ts'
import type { ImportOperation } from '../command.ts'
import type { ChildItem, ImportedPerson, SubtaskItem, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import type { Source } from '../sources.ts'
import { type FieldSpec, valuesOf } from './fields.ts'
import { maxLabelName, type People, statusOf, statusOfLabel, textOfPerson } from './names.ts'
import type { Notes } from './notes.ts'
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
  /**
   * The import leaves out reminders before this time. The time is some seconds from now, because a reminder must still
   * be in the future at the commit.
   */
  firstReminder: string
  /** Later times of creation are replaced by this time. */
  now: string
}

const maxAuthor = 200
const maxLine = 1_000

/** The names of fields in the foot of descriptions, if these names differ from the names in items. */
const shownNames: Record<string, string> = { dueDate: 'Due', remindAt: 'Reminder', blockedBy: 'Blocked by' }
const shownName = (name: string): string => shownNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1)

type Values = Record<string, unknown>
type Origin = Pick<ImportOperation, 'createdAt' | 'importedAuthor'>

/** Converts a row of a file to the fields of its operation. Adds values without a field to `notes`. */
export class Conversion {
  constructor(
    private readonly context: ConvertContext,
    private readonly notes: Notes,
  ) {}

  /** @param addLast adds the last lines of the description, about the parent and the sub-items of the task */
  task(item: TaskItem, addLast: () => void): Omit<ImportOperation, 'op' | 'id' | 'externalId'> {
    const { notes } = this
    const list = item.list && !isBlank(item.list) ? item.list : undefined
    const listStatus = list === undefined ? undefined : statusOf(list, this.context.mapping)
    const labels = listStatus === null ? [list!, ...(item.labels ?? [])] : item.labels
    const status = item.status ?? (listStatus === null ? statusOfLabel(list!) : listStatus)
    const given: Values = { ...item, labels, status }
    const values: Values = { title: this.name('title', item.title, CreateTask.properties.title) }
    for (const [name, field] of taskFields) {
      const header = headerOf(name, field)
      if (name === 'description' || name === 'externalId' || name === 'blockedByIds') continue
      if (given[header] != null) values[name] = this.value(header, field, given[header])
    }
    values.remindAt = this.reminder(values.remindAt as string | undefined)
    values.fields = item.fields && valuesOf(item.fields, this.context.fields, notes)
    for (const note of item.notes ?? []) if (!isBlank(note)) notes.addToFoot(note.trim())
    const createdAt = this.past('task', this.instant('Created', item.createdAt))
    addLast()
    values.description = notes.describe(item.description)
    const all = item.isExported ? withEmptyValues(values, item, this.context) : values
    return withoutAbsent({ ...all, createdAt, ...this.author(item) }) as never
  }

  /** Returns undefined if the child has no text. */
  child(item: ChildItem): (Values & Origin) | undefined {
    const { asChild, person, references = {} } = definitionOf(item.kind)
    const { input, text } = asChild!
    const values: Values = {}
    for (const [name, schema] of Object.entries(input.properties)) {
      const given = (item as unknown as Values)[nameInFile(name)]
      if (name === 'id' || name in references) continue
      if (typeof given === 'string' && isNameSchema(schema)) values[name] = this.name(name, given, schema)
      else if (typeof given === 'string' && name === text) values[name] = this.text(item.kind, given, schema)
      else values[name] = given
    }
    if (values[text] === undefined) {
      this.notes.report(`The ${item.kind} has no ${text}`)
      return undefined
    }
    const createdAt = this.past(item.kind, this.instant('Created', item.createdAt))
    return withoutAbsent({ ...values, createdAt, ...(person && this.author(item)) })
  }

  private value(header: string, field: AnyField, given: unknown): unknown {
    const { kind, input, reference } = field
    if (kind?.is === 'user') return this.user(header, given as ImportedPerson)
    if (reference) return this.labelIds(given as string[])
    if (kind?.is === 'instant') return this.instant(shownName(header), given as string)
    const value =
      typeof given === 'string' && kind?.fromText ? kind.fromText(given, withoutNull(input)) : given
    if (value !== undefined && Value.Check(input, value)) return value
    const text = String(given).trim()
    this.notes.addToFoot(`${header}: ${cut(text, maxLine)}`, `${header} does not accept "${cut(text, 100)}"`)
    return undefined
  }

  /** A name that is too long is also a line of the description. */
  private name(field: string, text: string, { maxLength }: TSchema): string {
    const name = nameIn(text, maxLength as number) ?? 'Untitled'
    const whole = nameFrom(text)
    if (isBlank(whole)) this.notes.report(`The empty ${field} was replaced by "${name}"`)
    else if (name !== whole)
      this.notes.addToFoot(`${shownName(field)}: ${whole}`, `The ${field} was cut at ${maxLength} characters`)
    else if (name !== text.trim())
      this.notes.report(`Control characters in the ${field} were replaced by spaces`)
    return name
  }

  private text(kind: string, given: string, { maxLength }: TSchema): string | undefined {
    if (isBlank(given)) return undefined
    const text = cut(given.trim(), maxLength as number).trim()
    if (text !== given.trim()) this.notes.report(`The ${kind} was cut at ${maxLength} characters`)
    return text
  }

  /** The importing account is the author of its own rows. */
  private author({ author }: Pick<TaskItem, 'author'>): Origin {
    if (!author || this.context.people.find(author)?.id === this.context.userId) return {}
    const importedAuthor = nameIn(author.name || author.email || '', maxAuthor)
    return importedAuthor === undefined ? {} : { importedAuthor }
  }

  private instant(name: string, given = ''): string | undefined {
    const text = cut(given.trim(), 100)
    const instant = isBlank(text) ? undefined : parseInstant(given.trim())
    if (instant === null)
      this.notes.addToFoot(`${name}: ${text}`, `${name}: "${text}" is not a date from year 1 to 9999`)
    return instant ?? undefined
  }

  /** Lists sort rows by their times, so a time in the future would put a row after all later rows. */
  private past(kind: string, instant: string | undefined): string | undefined {
    const { now } = this.context
    if (!instant || instant <= now) return instant
    const replaced = 'it was replaced by the time of the import'
    this.notes.report(`The time ${instant} of the ${kind} is in the future: ${replaced}`)
    return now
  }

  private reminder(instant: string | undefined): string | undefined {
    if (!instant || instant >= this.context.firstReminder) return instant
    this.notes.report(`The reminder was left out, because its time ${instant} has passed or is near`)
    return undefined
  }

  private user(header: string, given: ImportedPerson): string | undefined {
    const person = this.context.people.find(given)
    const name = cut(given.name || given.email || '', maxAuthor)
    const line = `${shownName(header)}: ${cut(textOfPerson(given), 2 * maxAuthor)}`
    if (!person && !isBlank(name))
      this.notes.addToFoot(line, `The ${header} "${name}" is not a member of the project`)
    return person?.id
  }

  private labelIds(names: string[]): string[] | undefined {
    const ids = new Set<string>()
    for (const name of names) {
      const label = nameIn(name, maxLabelName)
      if (label === undefined && name !== '')
        this.notes.report('A label without visible characters was left out')
      if (label === undefined) continue
      const id = this.context.labels.get(caseless(label))
      const hasSpace = id !== undefined && (ids.size < maxIds || ids.has(id))
      if (hasSpace) ids.add(id)
      else {
        const reason = `The ${id ? 'task' : 'project'} has no space for the label "${label}"`
        this.notes.addToFoot(`Label: ${label}`, reason)
      }
      if (label === name.trim()) continue
      const reason = `The name of the label "${label}" was cut at ${maxLabelName} characters`
      this.notes.addToFoot(`Label: ${cut(name.trim(), 500)}`, reason)
    }
    return ids.size > 0 ? [...ids] : undefined
  }
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
  // The step `links` sets the blockers, unless there are none.
  if (item.blockedBy?.length) delete all.blockedByIds
  // A CSV file may lack the column of a field.
  const columns = source === 'csv' ? Object.values(mapping.columns ?? {}) : undefined
  const inFile = [...fields.keys()].filter((key) => !columns || columns.includes(`field.${key}`))
  const empty = Object.fromEntries(inFile.map((key) => [key, null]))
  return { ...all, fields: { ...empty, ...(values.fields as object | undefined) } }
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
  const status = item.status ?? (listStatus === null ? statusOfLabel(item.list!) : listStatus)
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
    ...Object.entries(item.fields ?? {}).map(
      ([key, value]) => [fields.get(key)?.name ?? key, value] as [string, unknown],
    ),
  ]
  const texts = parts.flatMap(([name, value]) => (isBlank(String(value ?? '')) ? [] : `${name}: ${value}`))
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
