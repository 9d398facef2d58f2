import type { SubtaskItem, TaskItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'
import { statusOf } from './statuses.ts'
import { cut, isBlank } from './texts.ts'

const maxLine = 1_000

/** Returns the subtask that a sub-item becomes, and what a subtask cannot hold as a line of the task's description. */
export function subtaskOf(
  item: TaskItem,
  mapping: Mapping,
  taskList?: string,
): { subtask: SubtaskItem; line?: string } {
  const { row, key, parent = '', title, createdAt, messages = [] } = item
  const listStatus = item.list ? statusOf(item.list, mapping) : undefined
  const status = item.status ?? listStatus
  const isOther = listStatus === null && item.list !== taskList
  const rest = restOf(item, status === 'IN_PROGRESS' ? status : undefined, isOther ? item.list : undefined)
  const line = rest && cut(`Subtask "${cut(title.trim(), 100)}": ${rest}`, maxLine)
  const all = line ? [...messages, `At the foot of the task's description: ${cut(rest, maxLine)}`] : messages
  const completed = status === 'DONE'
  const subtask: SubtaskItem = { kind: 'subtask', row, task: parent, title, completed }
  if (key !== undefined) subtask.key = key
  if (createdAt !== undefined) subtask.createdAt = createdAt
  if (all.length > 0) subtask.messages = all
  return line ? { subtask, line } : { subtask }
}

const nameOf = (person: TaskItem['author']) => person?.name || person?.email

function restOf(item: TaskItem, status?: string, list?: string): string {
  const { labels = [], fields = {}, notes = [] } = item
  const parts: [string, unknown][] = [
    ['List', list],
    ['Status', status],
    ['Labels', labels.join(', ')],
    ['Priority', item.priority],
    ['Due', item.dueDate],
    ['Reminder', item.remindAt],
    ['Assignee', nameOf(item.assignee)],
    ['Author', nameOf(item.author)],
    ...Object.entries(fields),
    ['Blocked by', item.blockedBy?.join(', ')],
  ]
  const texts = parts.flatMap(([name, value]) =>
    value === undefined || isBlank(String(value)) ? [] : `${name}: ${value}`,
  )
  return [...texts, ...notes.filter((note) => !isBlank(note))].join('; ')
}
