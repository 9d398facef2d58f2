import { caseless, nameFrom, parseInstant } from '../../../src/schema/text.ts'
import type { CommentOperation, SubtaskOperation, TaskOperation } from '../command/operations.ts'
import type { CommentItem, ImportedPerson, SubtaskItem, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import type { Source } from '../sources.ts'
import { type FieldSpec, valuesOf } from './fields.ts'
import { maxLabelName, statusOf } from './names.ts'
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
const maxTitle = 500
const maxAuthor = 200
const maxLabels = 50
const maxComment = 20_000
const maxLine = 1_000

type Values = TaskOperation['values']

/**
 * Returns the values and the origin of a task. Adds values without a field to `notes`.
 * @param addLast adds the last lines of the description, about the parent and the sub-items of the task
 */
export function convertTask(
  item: TaskItem,
  context: ConvertContext,
  notes: Notes,
  addLast: () => void = () => {},
): Pick<TaskOperation, 'values' | 'createdAt' | 'importedAuthor'> {
  const list = item.list && !isBlank(item.list) ? item.list : undefined
  const listStatus = list === undefined ? undefined : statusOf(list, context.mapping)
  const labels = listStatus === null ? [list!, ...(item.labels ?? [])] : (item.labels ?? [])
  const values: Record<keyof Values, unknown> = {
    title: titleIn(item.title, notes),
    status: item.status ?? (listStatus === null ? 'TODO' : listStatus),
    priority: item.priority,
    dueDate: instantOf('Due', item.dueDate, notes),
    remindAt: reminderOf(item, context, notes),
    assigneeId: item.assignee && assigneeOf(item.assignee, context, notes),
    labelIds: labelIdsOf(labels, context, notes),
    fields: item.fields && valuesOf(item.fields, context.fields, notes),
    description: undefined,
    // The step `references` sets other lists.
    blockedByIds: item.isExported && !item.blockedBy?.length ? [] : undefined,
  }
  for (const note of item.notes ?? []) if (!isBlank(note)) notes.addToFoot(note.trim())
  const createdAt = instantOf('Created', item.createdAt, notes)
  addLast()
  values.description = notes.describe(item.description)
  return withoutAbsent({ values: withoutAbsent(values) as Values, createdAt, ...authorOf(item, context) })
}

export function convertSubtask(
  item: SubtaskItem,
  context: ConvertContext,
  notes: Notes,
): Omit<SubtaskOperation, 'op' | 'id' | 'taskId'> {
  const createdAt = pastOf('subtask', item, context, notes)
  return withoutAbsent({ title: titleIn(item.title, notes), completed: item.completed, createdAt })
}

/** Returns undefined if the text is empty. */
export function convertComment(
  item: CommentItem,
  context: ConvertContext,
  notes: Notes,
): Omit<CommentOperation, 'op' | 'id' | 'taskId'> | undefined {
  const createdAt = pastOf('comment', item, context, notes)
  if (isBlank(item.text)) {
    notes.report('The comment has no text')
    return undefined
  }
  const text = cut(item.text.trim(), maxComment).trim()
  if (text !== item.text.trim()) notes.report(`The comment was cut at ${maxComment} characters`)
  return withoutAbsent({ text, createdAt, ...authorOf(item, context) })
}

/** A title with more than 500 characters is also a line of the description. */
function titleIn(text: string, notes: Notes): string {
  const title = nameIn(text, maxTitle)
  if (title === undefined) {
    notes.report(`The empty title was replaced by "${untitled}"`)
    return untitled
  }
  if (title === text.trim()) return title
  if (title === nameFrom(text)) notes.report('Control characters in the title were replaced by spaces')
  else notes.addToFoot(`Title: ${nameFrom(text)}`, `The title was cut at ${maxTitle} characters`)
  return title
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
function pastOf(
  kind: string,
  { createdAt }: Pick<TaskItem, 'createdAt'>,
  { now }: ConvertContext,
  notes: Notes,
): string | undefined {
  const instant = instantOf('Created', createdAt, notes)
  if (!instant || instant <= now) return instant
  notes.report(
    `The time ${instant} of the ${kind} is in the future: it was replaced by the time of the import`,
  )
  return now
}

function reminderOf(
  { remindAt }: TaskItem,
  { firstReminder }: ConvertContext,
  notes: Notes,
): string | undefined {
  const instant = instantOf('Reminder', remindAt, notes)
  if (!instant || instant >= firstReminder) return instant
  notes.report(`The reminder was left out, because its time ${instant} has passed or is near`)
  return undefined
}

function assigneeOf(assignee: ImportedPerson, { people }: ConvertContext, notes: Notes): string | undefined {
  const person = people.find(assignee)
  const name = cut(assignee.name || assignee.email || '', maxAuthor)
  if (!person && !isBlank(name))
    notes.addToFoot(
      `Assignee: ${cut(textOfPerson(assignee), 2 * maxAuthor)}`,
      `The assignee "${name}" is not a member of the project`,
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
    if (id === undefined || (ids.size === maxLabels && !ids.has(id)))
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
  const { row, key, parent = '', title, createdAt, orderMs, messages = [], labels = [] } = item
  const listStatus = item.list ? statusOf(item.list, mapping) : undefined
  const status = item.status ?? listStatus
  const parts: [string, unknown][] = [
    ['Key', issueKey.test(key) ? key : undefined],
    ['List', listStatus === null && !isListOfTask ? item.list : undefined],
    ['Status', status === 'IN_PROGRESS' ? status : undefined],
    ['Labels', labels.join(', ')],
    ['Priority', item.priority],
    ['Due', item.dueDate],
    ['Reminder', item.remindAt],
    ['Assignee', item.assignee && textOfPerson(item.assignee)],
    ['Author', item.author?.name || item.author?.email],
    ...Object.entries(item.fields ?? {}).map(([name, value]): [string, unknown] => [
      fields.get(name)?.name ?? name,
      value,
    ]),
    ['Blocked by', item.blockedBy?.join(', ')],
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
