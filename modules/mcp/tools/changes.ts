import { Type } from '@sinclair/typebox'
import { maxSeq, maxWaitSeconds } from '../../events/parameters.ts'
import { type Event, hasNames, shownEvent } from '../answers/rows.ts'
import { fittingFrom, Next, withSections } from '../answers/pages.ts'
import { cursorOf, withQuery } from '../call.ts'
import { namesOf } from '../names.ts'
import { tool, ToolError } from '../tool.ts'
import { Count, EventTypes, NextNumber, ProjectName, Range, TaskId, taskPath, UserName } from './arguments.ts'

const pageEvents = 100

export const changes = tool({
  name: 'changes',
  description:
    'List the changes of a project after a version, in order, without gaps. Can wait for the next change.',
  scope: 'read',
  input: {
    project: ProjectName,
    after: Count(
      0,
      maxSeq,
      ', `after` of the previous answer, or `version` of find: only later events; 0 lists all',
    ),
    wait: Range(0, maxWaitSeconds, 'seconds to wait for a change'),
    types: EventTypes,
    exceptActor: UserName('id or me: leaves out the changes of this account'),
    next: NextNumber,
  },
  async run({ project, wait, types, exceptActor, next, ...given }, call) {
    const start = Number(next ?? given.after ?? 0)
    const query = { after: start, wait, types, exceptActor, limit: pageEvents }
    const path = withQuery(`/projects/${project}/events`, query)
    const page = await call.get<Event[]>(path)
    const names = page.body.some(hasNames) ? await namesOf(call, project) : new Map()
    const rows = page.body.map((event) => shownEvent(event, names))
    const shown = fittingFrom(rows)
    const isCut = shown.length < rows.length
    const cursor = cursorOf(page)
    const last =
      cursor ??
      ((types ?? exceptActor) && page.headers.get('docket-version')) ??
      page.body.at(-1)?.seq ??
      start
    const after = isCut ? page.body[shown.length - 1]!.seq : Number(last)
    return { changes: shown, after, ...((isCut || cursor) && { next: String(after) }) }
  },
})

export const history = tool({
  name: 'history',
  description:
    'List the changes of a project or a task with their authors, newest first. A deleted task has a history too. `batch` is the argument of undo.',
  scope: 'read',
  input: {
    project: Type.Optional(ProjectName),
    id: Type.Optional(TaskId('The id of a task: lists only events of this task')),
    actor: UserName(),
    types: EventTypes,
    next: Next,
  },
  async run({ project: given, id, actor, types, next }, call) {
    if (id === undefined && given === undefined)
      throw new ToolError(400, 'project or id is required', 'Pass a project, or the id of a task')
    if (id !== undefined && (actor ?? types)) {
      const message = 'actor and types cannot be used together with id'
      throw new ToolError(400, message, 'Leave out id, or leave out actor and types')
    }
    const path = id === undefined ? `/projects/${given}/history` : `${taskPath(id)}/history`
    const project = given ?? (await call.get<Event[]>(`${path}?limit=1`)).body[0]?.projectId
    const names = project === undefined ? new Map() : await namesOf(call, project)
    const section = {
      name: 'history',
      path: withQuery(path, { actor, type: types }),
      show(event: Event) {
        const isOther = event.projectId !== undefined && event.projectId !== project
        if (isOther && given !== undefined) return []
        return [{ ...(isOther && { project: event.projectId }), ...shownEvent(event, names) }]
      },
    }
    return withSections(call, { head: [{ project }], sections: [section], next })
  },
})
