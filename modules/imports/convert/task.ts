import { caseless, parseInstant } from '../../../src/schema/text.ts'
import type { ImportedPerson, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import type { TaskOperation } from '../command/operations.ts'
import type { Source } from '../sources.ts'
import { type FieldSpec, valuesOf } from './fields.ts'
import { maxLabelName } from './names-in-file.ts'
import type { Notes } from './notes.ts'
import { type People, textOfPerson } from './people.ts'
import { statusOf } from './statuses.ts'
import { cut, isBlank, nameIn } from './texts.ts'
import { titleIn } from './titles.ts'

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
}

const maxAuthor = 200
const maxLabels = 50

type Values = TaskOperation['values']

/** Returns the values and the origin of a task. Adds values without a field to `notes`. */
export function convertTask(
  item: TaskItem,
  context: ConvertContext,
  notes: Notes,
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
    // The step `links` sets other lists.
    blockedByIds: item.isExported && !item.blockedBy?.length ? [] : undefined,
  }
  for (const note of item.notes ?? []) if (!isBlank(note)) notes.addToFoot(note.trim())
  const origin = originOf(item, context, notes)
  values.description = notes.describe(item.description)
  return { values: withoutAbsent(values) as Values, ...origin }
}

export function originOf(
  { author, createdAt }: Pick<TaskItem, 'author' | 'createdAt'>,
  { people, userId }: ConvertContext,
  notes: Notes,
): { createdAt?: string; importedAuthor?: string } {
  const isOwn = author && people.find(author)?.id === userId
  return withoutAbsent({
    createdAt: instantOf('Created', createdAt, notes),
    importedAuthor: isOwn || !author ? undefined : nameIn(author.name || author.email || '', maxAuthor),
  })
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
