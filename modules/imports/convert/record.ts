import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { definitionOf } from '../../../src/model/model.ts'
import { caseless, isNameSchema, nameFrom, parseInstant, withoutNull } from '../../../src/schema/input.ts'
import { nameInFile } from '../../exports/cells.ts'
import { type AnyField, boolean } from '../../tasks/kinds.ts'
import { CreateTask, headerOf, maxDescription, maxIds, taskFields } from '../../tasks/schema.ts'
import type { ImportOperation } from '../command.ts'
import type { ChildItem, ImportedPerson, SubtaskItem, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import type { Source } from '../sources.ts'
import { cut, isBlank, nameIn } from './texts.ts'
import {
  acceptsValue,
  type FieldValue,
  maxValueCharacters,
  maxValues,
  optionNamed,
} from '../../fields/values.ts'
import {
  fieldKeyOf,
  type FieldSpec,
  maxKeyCharacters,
  maxLabelName,
  type People,
  statusOf,
  statusOfLabel,
  textOfPerson,
} from './names.ts'

const maxMessageCharacters = 2_000
const maxKeptCharacters = 200
/** The maximum number of characters of the lines at the foot of a description. */
const maxFoot = 10_000
const separator = '\n\n---\n'

/** Collects the messages of a row for the report, and the lines at the foot of the task's description. */
export class Notes {
  private readonly messages: string[]
  /** All lines at the foot of the description. The report lists those in `reported`. */
  private readonly foot: string[] = []
  private readonly reported: string[] = []
  private isDescribed = false

  constructor(messages: string[] = []) {
    this.messages = [...messages]
  }

  report(message: string): void {
    this.messages.push(message)
  }

  /** Adds a line to the foot of the description. Another line of the report contains this line already. */
  addReported(line: string): void {
    if (line) this.foot.push(line)
  }

  /** Adds a line to the foot of the description. @param reason a message for the report */
  addToFoot(line: string, reason?: string): void {
    this.foot.push(line)
    this.reported.push(cut(line.replace(/\s+/g, ' '), maxKeptCharacters))
    if (reason) this.report(reason)
  }

  /** The message of the row's line in the report; empty if the row is imported exactly. Only tasks have a description. */
  get message(): string {
    const place = this.isDescribed ? 'At the foot of the description' : 'Not imported'
    const lines = this.reported.length > 0 ? [`${place}: ${this.reported.join('; ')}`] : []
    return cut([...this.messages, ...lines].join('. '), maxMessageCharacters)
  }

  /** Returns the description with its foot; undefined if both are empty. Call this after all notes of a task. */
  describe(description = ''): string | undefined {
    const body = description.trim()
    const lines = this.foot.join('\n')
    const foot = cut(lines, maxFoot)
    const end = foot && body ? separator + foot : foot
    const fitting = cut(body, maxDescription - end.length)
    if (fitting !== body || foot !== lines) this.report('The description was cut')
    this.isDescribed = true
    return fitting + end || undefined
  }
}

export interface ConvertContext {
  source: Source
  mapping: Mapping
  people: People
  /** The account that imports. */
  userId: string
  /** The ids of labels by their names, as `caseless` returns them. */
  labels: ReadonlyMap<string, string>
  fields: ReadonlyMap<string, FieldSpec>
  /** In a dry run: the operations of labels by their ids, and of fields by their keys, that are not committed. */
  uncommitted: ReadonlyMap<string, ImportOperation>
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

/** The status of a task in its list; the list, if it becomes a label. */
function placeOf({ list, status }: TaskItem, mapping: Mapping) {
  if (!list || isBlank(list)) return { status }
  const ofList = statusOf(list, mapping)
  return ofList === null
    ? { status: status ?? statusOfLabel(list), label: list }
    : { status: status ?? ofList }
}

/** Converts a row of a file to the fields of its operation. Values without a field become notes. */
export class Conversion extends Notes {
  constructor(
    private readonly context: ConvertContext,
    messages?: string[],
  ) {
    super(messages)
  }

  /** Returns the values without the description: its foot contains the notes of all values. */
  task(item: TaskItem): Values {
    const { status, label } = placeOf(item, this.context.mapping)
    const labels = label === undefined ? item.labels : [label, ...(item.labels ?? [])]
    const given: Values = { ...item, labels, status }
    const values: Values = { title: this.name('title', item.title, CreateTask.properties.title) }
    for (const [name, field] of taskFields) {
      const header = headerOf(name, field)
      if (name === 'description' || name === 'externalId' || name === 'blockedByIds') continue
      values[name] = given[header] == null ? undefined : this.value(header, field, given[header])
    }
    values.fields = item.fields && this.fieldValues(item.fields)
    for (const note of item.notes ?? []) if (!isBlank(note)) this.addToFoot(note.trim())
    return withoutAbsent({ ...values, ...this.origin(item, true) })
  }

  /** Returns undefined if the child has no text. */
  child(item: ChildItem): Values | undefined {
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
    if (values[text] !== undefined)
      return withoutAbsent({ ...values, ...this.origin(item, person !== undefined) })
    this.report(`The ${item.kind} has no ${text}`)
    return undefined
  }

  private value(header: string, { kind, input, reference }: AnyField, given: unknown): unknown {
    if (kind?.is === 'user') return this.user(header, given as ImportedPerson)
    if (reference) return this.labelIds(given as string[])
    if (kind?.is === 'instant') return this.instant(header, given as string)
    const value =
      typeof given === 'string' && kind?.fromText ? kind.fromText(given, withoutNull(input)) : given
    if (value !== undefined && Value.Check(input, value)) return value
    this.addToFoot(`${shownName(header)}: ${cut(String(given).trim(), maxLine)}`)
    return undefined
  }

  /** A name that is too long is also a line of the description. */
  private name(field: string, text: string, { maxLength }: TSchema): string {
    const name = nameIn(text, maxLength as number) ?? 'Untitled'
    const whole = nameFrom(text)
    if (name !== whole && !isBlank(whole)) this.addToFoot(`${shownName(field)}: ${whole}`)
    else if (name !== text.trim()) this.report(`The ${field} was changed to "${cut(name, 100)}"`)
    return name
  }

  private text(kind: string, given: string, { maxLength }: TSchema): string | undefined {
    if (isBlank(given)) return undefined
    const text = cut(given.trim(), maxLength as number).trim()
    if (text !== given.trim()) this.report(`The ${kind} was cut at ${maxLength} characters`)
    return text
  }

  /**
   * The time and the author of a row in the source. Lists sort rows by their times, so a time in the future would put a
   * row after all later rows. The importing account is the author of its own rows.
   */
  private origin({ kind, createdAt, author }: TaskItem | ChildItem, hasAuthor: boolean): Values {
    const { now, people, userId } = this.context
    const instant = this.instant('created', createdAt)
    const isFuture = instant !== undefined && instant > now
    const replaced = 'it was replaced by the time of the import'
    if (isFuture) this.report(`The time ${instant} of the ${kind} is in the future: ${replaced}`)
    const isOther = hasAuthor && author && people.find(author)?.id !== userId
    const importedAuthor = isOther ? nameIn(author.name || author.email || '', maxAuthor) : undefined
    return { createdAt: isFuture ? now : instant, importedAuthor }
  }

  private instant(header: string, given = ''): string | undefined {
    const text = given.trim()
    const instant = isBlank(text) ? undefined : parseInstant(text)
    if (instant === null) this.addToFoot(`${shownName(header)}: ${cut(text, 100)}`)
    if (header !== 'remindAt' || !instant || instant >= this.context.firstReminder)
      return instant ?? undefined
    this.report(`The reminder was left out, because its time ${instant} has passed or is near`)
    return undefined
  }

  private user(header: string, given: ImportedPerson): string | undefined {
    const person = this.context.people.find(given)
    const name = cut(given.name || given.email || '', maxAuthor)
    const line = `${shownName(header)}: ${cut(textOfPerson(given), 2 * maxAuthor)}`
    if (!person && !isBlank(name))
      this.addToFoot(line, `The ${header} "${name}" is not a member of the project`)
    return person?.id
  }

  private labelIds(names: string[]): string[] | undefined {
    const ids = new Set<string>()
    for (const name of names) {
      const label = nameIn(name, maxLabelName)
      if (label === undefined) continue
      const id = this.context.labels.get(caseless(label))
      const hasSpace = id !== undefined && (ids.size < maxIds || ids.has(id))
      if (hasSpace) ids.add(id)
      if (!hasSpace || label !== name.trim()) this.addToFoot(`Label: ${cut(name.trim(), 500)}`)
    }
    return ids.size > 0 ? [...ids] : undefined
  }

  /** Returns the values that the custom fields accept. */
  private fieldValues(given: Record<string, FieldValue>): Record<string, FieldValue> | undefined {
    const values = new Map<string, FieldValue>()
    let characters = 2
    for (const [name, value] of Object.entries(given)) {
      if (typeof value === 'string' && isBlank(value)) continue
      const field = this.context.fields.get(fieldKeyOf(name))
      const accepted = field && valueOf(field, value)
      characters += JSON.stringify(accepted ?? '').length + maxKeyCharacters
      const isFull = values.size === maxValues || characters > maxValueCharacters
      if (accepted === undefined || isFull || values.has(field!.key))
        this.addToFoot(`${field?.name ?? name}: ${value}`)
      else values.set(field!.key, accepted)
      if (field?.type === 'date' && /T(?!00:00:00)/.test(String(value)))
        this.report(`The field "${field.name}" has only the date of ${value}`)
    }
    return values.size > 0 ? Object.fromEntries(values) : undefined
  }
}

const withoutAbsent = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

/** People refer to issues of Jira and Linear by keys such as `DOIT-42`. */
const issueKey = /^[A-Z][A-Z0-9_]{0,19}-\d{1,9}$/

/**
 * Returns a sub-item as a subtask. `line` has the values that subtasks have no field for, for the task's description.
 * @param listOfTask the list of the task, which the line does not repeat
 */
export function subtaskOf(
  item: TaskItem,
  { mapping, fields }: Pick<ConvertContext, 'mapping' | 'fields'>,
  listOfTask: string | undefined,
): { subtask: SubtaskItem; line?: string } {
  const { row, key, parent = '', title, createdAt, author, messages = [] } = item
  const { status, label } = placeOf(item, mapping)
  const parts: [string, unknown][] = [
    ['Key', issueKey.test(key) ? key : undefined],
    ['List', item.list === listOfTask ? undefined : label],
    ['Status', status === 'IN_PROGRESS' ? status : undefined],
    ...taskFields.flatMap(([name, field]): [string, unknown][] => {
      const header = headerOf(name, field)
      const isShown = name !== 'status' && name !== 'externalId' && name !== 'description'
      return isShown ? [[shownName(header), textOfValue((item as unknown as Values)[header])]] : []
    }),
    ['Author', author?.name || author?.email],
    ...Object.entries(item.fields ?? {}).map(([key, value]): [string, unknown] => [
      fields.get(key)?.name ?? key,
      value,
    ]),
  ]
  const texts = parts.flatMap(([name, value]) => (isBlank(String(value ?? '')) ? [] : `${name}: ${value}`))
  const rest = [...texts, ...(item.notes ?? []).filter((note) => !isBlank(note))].join('; ')
  const subtask: SubtaskItem = {
    ...{ kind: 'subtask', row, task: parent, key, title, completed: status === 'DONE', createdAt },
    messages: rest ? [...messages, `At the foot of the task's description: ${cut(rest, maxLine)}`] : messages,
  }
  return { subtask, line: rest && cut(`Subtask "${cut(title.trim(), 100)}": ${rest}`, maxLine) }
}

function textOfValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' && value !== null ? textOfPerson(value as ImportedPerson) : value
}

/** How texts become values of other types. */
const readers: Partial<Record<FieldSpec['type'], (text: string) => FieldValue | undefined>> = {
  boolean: (text) => boolean.fromText!(text, Type.Boolean()) as FieldValue | undefined,
  date: (text) => parseInstant(text)?.slice(0, 10),
  number: (text) => (text === '' ? undefined : Number(text)),
}

/** Returns undefined if the field does not accept the value. */
function valueOf({ type, options = null }: FieldSpec, given: FieldValue): FieldValue | undefined {
  const text = String(given).trim()
  const value = type === 'choice' ? optionNamed(options, text) : (readers[type] ?? String)(text)
  return acceptsValue({ type, options }, value) ? (value as FieldValue) : undefined
}
