import type { Static } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { TaskId, taskPath } from './arguments.ts'
import { type Event, shownEvent } from '../answers/events.ts'
import { type Names, openNames } from '../answers/names.ts'
import { Next } from '../answers/position.ts'
import { cut } from '../answers/token-budget.ts'
import { type Section, withSections } from '../answers/sections.ts'
import { withoutEmpty, namesIn, shortFields, type Task } from '../answers/tasks.ts'
import { read } from '../requests.ts'
import type { Call, Tool } from '../tool.ts'

const input = Input({ id: TaskId(), next: Next })

interface Subtask {
  id: string
  title: string
  completed: boolean
}
interface Comment {
  id: string
  text: string
  author: { name: string } | null
  createdAt: string
}

const recentEvents = 20

const sectionsOf = (path: string, names: Names): Section[] => [
  {
    name: 'subtasks',
    path: `${path}/subtasks`,
    show: ({ id, title, completed }: Subtask) => ({ row: { id, title, completed } }),
  },
  {
    name: 'comments',
    path: `${path}/comments`,
    show({ id, text: whole, author, createdAt: at }: Comment, from) {
      const { text, cutAt } = cut(whole, from)
      return { row: from ? { id, text } : { id, by: author?.name ?? null, at, text }, cutAt }
    },
  },
  {
    name: 'history',
    path: `${path}/history`,
    limit: recentEvents,
    show: (event: Event) => ({ row: shownEvent(event, names) }),
  },
]

export const get: Tool = {
  name: 'get',
  description: `Show a task with its subtasks, comments and last ${recentEvents} events.`,
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ id, next }: Static<typeof input>, call: Call) {
    const path = taskPath(id)
    const { body: task, headers } = await read<Task>(call, path)
    const names = await openNames(call)(task.projectId)
    const fields = shortFields(task.fields)
    const head = (from?: number) => {
      const { text, cutAt } = cut(task.description, from)
      if (from) return { row: { id: task.id, description: text }, cutAt }
      const version = Number(headers.get('docket-version'))
      const etag = headers.get('etag')
      return {
        row: withoutEmpty({ ...task, ...namesIn(task, names), fields, description: text, etag, version }),
        cutAt,
      }
    }
    return withSections(call, head, sectionsOf(path, names), next)
  },
}
