import type { Static } from '@sinclair/typebox'
import type { EntityDefinition } from '../../../src/model/definition.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { model } from '../../../src/model/model.ts'
import { Input } from '../../../src/schema/input.ts'
import { otherNames } from '../../exports/cells.ts'
import { type Event, shownEvent } from '../answers/events.ts'
import { type Names, openNames } from '../answers/names.ts'
import { Next, type Section, withSections, cut } from '../answers/pages.ts'
import { withoutEmpty, namesIn, shortFields, type Task } from '../answers/tasks.ts'
import { read } from '../requests.ts'
import { type Call, type Tool } from '../tool.ts'
import { TaskId, taskPath } from './arguments.ts'

const input = Input({ id: TaskId(), next: Next })

const recentEvents = 20

interface Child {
  id: string
  author?: { name: string } | null
  createdAt: string
  [field: string]: unknown
}

function childSection(path: string, definition: EntityDefinition<ChildOfTask>): Section<Child> {
  const { plural } = definition
  const textName = definition.asChild!.text as string
  const others = otherNames(definition)
  return {
    name: plural,
    path: `${path}/${plural}`,
    show(child, from) {
      const { id, author, createdAt: at } = child
      const { text, cutAt } = cut(child[textName] as string, from)
      if (from) return { row: { id, [textName]: text }, cutAt }
      const by = author === undefined ? {} : { by: author?.name ?? null, at }
      const rest = Object.fromEntries(others.map((name) => [name, child[name]]))
      return { row: { id, ...by, [textName]: text, ...rest }, cutAt }
    },
  }
}

const sectionsOf = (path: string, names: Names): Section[] => [
  ...model().ofTask.map((child) => childSection(path, child)),
  {
    name: 'history',
    path: `${path}/history`,
    max: recentEvents,
    isExcerpt: true,
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
