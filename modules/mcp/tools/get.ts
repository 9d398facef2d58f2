import type { EntityDefinition } from '../../../src/model/definition.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { model } from '../../../src/model/model.ts'
import { otherNames } from '../../exports/cells.ts'
import { type Event, shownEvent } from '../answers/events.ts'
import { inParts, Next, type Section, withSections } from '../answers/pages.ts'
import { allFields, type Task, withoutEmpty } from '../answers/tasks.ts'
import { read } from '../call.ts'
import { namesOf } from '../names.ts'
import { tool } from '../tool.ts'
import { TaskId, taskPath } from './arguments.ts'

const recentEvents = 20

interface Child {
  id: string
  author?: { name: string } | null
  createdAt: string
  [field: string]: unknown
}

function childSection(path: string, definition: EntityDefinition<ChildOfTask>): Section<Child> {
  const { plural } = definition
  const text = definition.asChild!.text as string
  const others = otherNames(definition)
  return {
    name: plural,
    path: `${path}/${plural}`,
    show(child) {
      const { id, author, createdAt: at } = child
      const by = author === undefined ? {} : { by: author?.name ?? null, at }
      const rest = Object.fromEntries([text, ...others].map((name) => [name, child[name]]))
      return inParts({ id, ...by, ...rest }, text)
    },
  }
}

export const get = tool({
  name: 'get',
  description: `Show a task with its subtasks, comments and last ${recentEvents} events.`,
  scope: 'read',
  input: { id: TaskId(), next: Next },
  async run({ id, next }, call) {
    const path = taskPath(id)
    const { body: task, headers } = await read<Task>(call, path)
    const names = await namesOf(call, task.projectId)
    const [etag, version] = [headers.get('etag'), Number(headers.get('docket-version'))]
    const head = inParts({ ...allFields(task, names), etag, version }, 'description').map(withoutEmpty)
    const history: Section<Event> = {
      ...{ name: 'history', path: `${path}/history`, max: recentEvents, isExcerpt: true },
      show: (event) => [shownEvent(event, names)],
    }
    const children = model().ofTask.map((child) => childSection(path, child))
    return withSections(call, { head, sections: [...children, history] as Section[], next })
  },
})
