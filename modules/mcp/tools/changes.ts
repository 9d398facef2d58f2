import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { maxSeq, maxWaitSeconds } from '../../events/parameters.ts'
import { type Event, hasNames, shownEvent } from '../answers/events.ts'
import { openNames, type Names } from '../answers/names.ts'
import { Budget, Next, type Section, withSections } from '../answers/pages.ts'
import type { Task } from '../answers/tasks.ts'
import { projectIdOf, openWithIds } from '../names/references.ts'
import { cursorOf, read, withQuery, successful } from '../requests.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { Count, EventTypes, ProjectName, TaskId, taskPath, UserName } from './arguments.ts'

const input = Input({
  project: ProjectName,
  after: Count(
    0,
    maxSeq,
    'A whole number, `after` of the previous answer, or `version` of find: only later events; 0 lists all',
  ),
  wait: Count(0, maxWaitSeconds, `A whole number from 0 to ${maxWaitSeconds}: seconds to wait for a change`),
  types: EventTypes,
  next: Type.Optional(
    Type.String({
      maxLength: 20,
      pattern: '^[0-9]{1,15}$',
      description: 'A text, `next` of the previous answer',
    }),
  ),
})

const pageEvents = 100

export const changes: Tool = {
  name: 'changes',
  description:
    'List the changes of a project after a version, in order, without gaps. Can wait for the next change.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ project, after = 0, wait, types, next }: Static<typeof input>, call: Call) {
    const start = next === undefined ? after : Number(next)
    const projectId = await projectIdOf(call, project)
    const path = `/projects/${projectId}/events`
    const page = await read<Event[]>(call, withQuery(path, { after: start, wait, types, limit: pageEvents }))
    const budget = new Budget({})
    const names = page.body.some(hasNames) ? await openNames(call)(projectId) : new Map()
    const rows = page.body.map((event) => shownEvent(event, names))
    const end = rows.findIndex((row) => !budget.add(row))
    if (end >= 0) return answerOf(rows.slice(0, end), page.body[end - 1]!.seq, true)
    const upTo = cursorOf(page)
    const last = upTo ?? (types ? page.headers.get('docket-version') : page.body.at(-1)?.seq) ?? start
    return answerOf(rows, Number(last), upTo !== undefined)
  },
}

const answerOf = (rows: object[], after: number, hasMore: boolean) => ({
  changes: rows,
  after,
  ...(hasMore && { next: String(after) }),
})

const historyInput = Input({
  project: Type.Optional(ProjectName),
  id: Type.Optional(TaskId('The id of a task: lists only events of this task')),
  actor: UserName,
  types: EventTypes,
  next: Next,
})
type Arguments = Static<typeof historyInput>

type TaskEvent = Event & { projectId: string }

export const history: Tool = {
  name: 'history',
  description:
    'List the changes of a project or a task with their authors, newest first. A deleted task has a history too. `batch` is the argument of undo.',
  inputSchema: historyInput,
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
    show: (event: Event) => ({ row: shownEvent(event, names) }),
  }
}
