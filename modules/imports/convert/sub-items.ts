import type { SubtaskItem, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import { textOfPerson } from './people.ts'
import { statusOf } from './statuses.ts'
import { cut, isBlank } from './texts.ts'

const maxLine = 1_000

export interface SubItemContext {
  mapping: Mapping
  /** By the keys of the fields in the file. */
  fieldNames: ReadonlyMap<string, string>
  /** The list of the task that gets the subtask. */
  list?: string
}

/** Returns a sub-item as a subtask. `line` has the values without a field of subtasks, for the task's description. */
export function subtaskOf(
  item: TaskItem,
  { mapping, fieldNames, list: taskList }: SubItemContext,
): { subtask: SubtaskItem; line?: string } {
  const { row, key, parent = '', title, createdAt, orderMs, messages = [] } = item
  const listStatus = item.list ? statusOf(item.list, mapping) : undefined
  const status = item.status ?? listStatus
  const isOther = listStatus === null && item.list !== taskList
  const rest = restOf(item, fieldNames, {
    status: status === 'IN_PROGRESS' ? status : undefined,
    list: isOther ? item.list : undefined,
  })
  const line = rest && cut(`Subtask "${cut(title.trim(), 100)}": ${rest}`, maxLine)
  const all = line ? [...messages, `At the foot of the task's description: ${cut(rest, maxLine)}`] : messages
  const completed = status === 'DONE'
  const subtask: SubtaskItem = { kind: 'subtask', row, task: parent, key, title, completed }
  if (createdAt !== undefined) subtask.createdAt = createdAt
  if (orderMs !== undefined) subtask.orderMs = orderMs
  if (all.length > 0) subtask.messages = all
  return line ? { subtask, line } : { subtask }
}

const nameOf = (person: TaskItem['author']) => person?.name || person?.email

/** People refer to issues of Jira and Linear by keys such as `DOIT-42`. */
const issueKey = /^[A-Z][A-Z0-9_]{0,19}-\d{1,9}$/

interface Rest {
  status?: string
  list?: string
}

function restOf(item: TaskItem, fieldNames: ReadonlyMap<string, string>, { status, list }: Rest): string {
  const { key, labels = [], fields = {}, notes = [] } = item
  const parts: [string, unknown][] = [
    ['Key', issueKey.test(key) ? key : undefined],
    ['List', list],
    ['Status', status],
    ['Labels', labels.join(', ')],
    ['Priority', item.priority],
    ['Due', item.dueDate],
    ['Reminder', item.remindAt],
    ['Assignee', item.assignee && textOfPerson(item.assignee)],
    ['Author', nameOf(item.author)],
    ...Object.entries(fields).map(([key, value]): [string, unknown] => [fieldNames.get(key) ?? key, value]),
    ['Blocked by', item.blockedBy?.join(', ')],
  ]
  const texts = parts.flatMap(([name, value]) =>
    value === undefined || isBlank(String(value)) ? [] : `${name}: ${value}`,
  )
  return [...texts, ...notes.filter((note) => !isBlank(note))].join('; ')
}
