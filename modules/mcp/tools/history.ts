import { type Static, Type } from '@sinclair/typebox'
import { writeCursor } from '../../../src/reads/pages.ts'
import { Input } from '../../../src/schema/input.ts'
import { type Event, shownEvent } from '../answers/events.ts'
import { type Names, openNames } from '../answers/names.ts'
import { Next, type Section, withSections } from '../answers/sections.ts'
import type { Task } from '../answers/tasks.ts'
import { projectIdOf } from '../names/name-lookup.ts'
import { openWithIds } from '../names/references.ts'
import { successful, withQuery } from '../requests.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { EventTypes, ProjectName, TaskId, taskPath, UserName } from './arguments.ts'

const input = Input({
  project: Type.Optional(ProjectName),
  id: Type.Optional(TaskId('The id of a task: lists only events of this task')),
  actor: UserName,
  types: EventTypes,
  next: Next,
})
type Arguments = Static<typeof input>

type TaskEvent = Event & { projectId: string }

export const history: Tool = {
  name: 'history',
  description:
    'List the changes of a project or a task with their authors, newest first. A deleted task has a history too. `batch` is the argument of undo.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ project, id, actor, types, next }: Arguments, call: Call) {
    const given = project === undefined ? undefined : await projectIdOf(call, project)
    if (id === undefined && given === undefined)
      throw new ToolError(400, 'project or id is required', 'Pass a project, or the id of a task')
    if (id !== undefined && (actor ?? types)) throw filtersNeedProject()
    const projectId = given ?? (await projectOfTask(call, id!))
    const names = projectId === undefined ? new Map() : await openNames(call)(projectId)
    const section =
      id === undefined
        ? await ofProject(call, projectId!, { actor, types }, names)
        : ofTask(id, { projectId, showsOthers: given === undefined }, names)
    return withSections(call, () => ({ row: { project: projectId } }), [section], next)
  },
}

const filtersNeedProject = () =>
  new ToolError(
    400,
    'actor and types cannot be used together with id',
    'Leave out id, or leave out actor and types',
  )

/** Returns undefined for a deleted task, which still has a history. */
async function projectOfTask(call: Call, id: string): Promise<string | undefined> {
  const answer = await call.request<Task>('GET', taskPath(id))
  return answer.status === 404 ? undefined : successful(answer).body.projectId
}

/** Returns the history of a task. If the task has moved, `showsOthers` also shows events from other projects. */
const ofTask = (
  id: string,
  { projectId, showsOthers }: { projectId?: string; showsOthers: boolean },
  names: Names,
): Section => ({
  name: 'history',
  path: `${taskPath(id)}/history`,
  show(event: TaskEvent) {
    const row = shownEvent(event, names)
    if (event.projectId === projectId) return { row }
    return showsOthers ? { row: { project: event.projectId, ...row } } : undefined
  },
})

async function ofProject(
  call: Call,
  projectId: string,
  { actor, types }: Pick<Arguments, 'actor' | 'types'>,
  names: Names,
): Promise<Section> {
  const { assigneeId = actor } = await openWithIds(call, projectId)({ assigneeId: actor })
  return {
    name: 'history',
    path: withQuery(`/projects/${projectId}/history`, { actor: assigneeId, type: types }),
    cursorAfter: ({ seq }: Event) => writeCursor([String(seq)]),
    show: (event: Event) => ({ row: shownEvent(event, names) }),
  }
}
