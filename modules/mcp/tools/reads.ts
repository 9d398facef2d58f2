import { Type } from '@sinclair/typebox'
import type { EntityDefinition } from '../../../src/model/definition.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { model } from '../../../src/model/model.ts'
import { otherNames } from '../../exports/cells.ts'
import { inParts, Next, type Section, shortened, withSections } from '../answers/pages.ts'
import { allFields, type Event, shownEvent, type Task, withoutEmpty } from '../answers/rows.ts'
import {} from '../call.ts'
import { namesOf } from '../names.ts'
import { tool } from '../tool.ts'
import { ProjectName, TaskId, taskPath } from './arguments.ts'

interface Person {
  name: string
  email: string
}
interface Project {
  id: string
  name: string
  description: string | null
  textEdits: string
  owner: Person | null
}

const shown = ({ id, name, description, textEdits, owner }: Project) => ({
  ...{ id, name, owner: owner?.name, description },
  textEdits: textEdits === 'last-write-wins' ? null : textEdits,
})

const list: Section<Project> = {
  name: 'projects',
  path: '/projects',
  show(project) {
    const description = shortened(project.description ?? '')
    return [withoutEmpty({ ...shown(project), description })]
  },
}

const section = (name: string, path: string, fields: string[]): Section<Record<string, unknown>> => ({
  ...{ name, path: `${path}/${name}` },
  show: (row) => [withoutEmpty(Object.fromEntries(fields.map((field) => [field, row[field]])))],
})

const inProject = (path: string): Section[] => [
  {
    name: 'members',
    path: `${path}/members`,
    show: ({ user, role }: { user: Person | null; role: string }) => [
      { name: user?.name ?? null, email: user?.email, role },
    ],
  },
  section('labels', path, ['name']),
  section('fields', path, ['key', 'type', 'options']),
]

export const projects = tool({
  name: 'projects',
  description:
    'List the projects you can read; with `project`, show one with its members, labels and custom fields.',
  scope: 'read',
  input: { project: Type.Optional(ProjectName), next: Next },
  async run({ project, next }, call) {
    if (project === undefined) return withSections(call, { sections: [list as Section], next })
    const path = `/projects/${project}`
    const { body } = await call.get<Project>(path)
    const head = inParts(shown(body), 'description').map(withoutEmpty)
    return withSections(call, { head, sections: inProject(path), next })
  },
})

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
    const { body: task, headers } = await call.get<Task>(path)
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
