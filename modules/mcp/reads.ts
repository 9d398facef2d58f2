import { type TSchema, Type } from '@sinclair/typebox'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { IdOf, maxSeq, OneOf, withoutNull } from '../../src/schema/input.ts'
import { maxWaitSeconds } from '../events/schema.ts'
import { otherNames } from '../exports/cells.ts'
import { CountedBy } from '../task-lists/reads.ts'
import { sorts } from '../task-lists/sorts.ts'
import { user } from '../tasks/kinds.ts'
import { fieldParameters, maxAttempts } from '../tasks/schema.ts'
import { Count, EventTypes, Flag, LabelNames, optional, ProjectName, Range } from './tool.ts'
import { TaskId, taskPath, UserName } from './tool.ts'
import { cursorOf, tool, withQuery } from './tool.ts'
import { inParts, Next, openFits, type Section, shortened, withSections } from './pages.ts'
import { allFields, details, type Event, shownEvent, shownTask, type Task, withoutEmpty } from './shown.ts'

type Row = Record<string, unknown> & { id: string }
interface Project extends Row {
  description: string | null
  owner: { name: string } | null
}

const shownProject = ({ id, name, ownerId, owner, description, textEdits }: Project) => ({
  ...{ id, name, ownerId, owner: owner?.name, description },
  textEdits: textEdits === 'last-write-wins' ? null : textEdits,
})

/** Returns a section with these fields of the rows of a list. */
const section = (path: string, name: string, fields: string[]): Section<Row> => ({
  ...{ name, path: `${path}/${name}` },
  show: (row) => [withoutEmpty(Object.fromEntries(fields.map((field) => [field, row[field]])))],
})

export const projects = tool({
  name: 'projects',
  description:
    'List the projects you can read; with `project`, show one with its members, labels and custom fields.',
  scope: 'read',
  input: { project: optional(ProjectName), next: Next },
  async run({ project, next }, call) {
    const list: Section<Project> = {
      ...{ name: 'projects', path: '/projects' },
      show: (one) => [withoutEmpty({ ...shownProject(one), description: shortened(one.description ?? '') })],
    }
    if (project === undefined) return withSections(call, { sections: [list], next })
    const path = `/projects/${project}`
    const { body } = await call.get<Project>(path)
    const head = inParts(shownProject(body), 'description').map(withoutEmpty)
    const members: Section<Row & { user: { name: string; email: string } | null }> = {
      ...{ name: 'members', path: `${path}/members` },
      show: ({ id, userId, user, role }) => [
        { id, userId, name: user?.name ?? null, email: user?.email, role },
      ],
    }
    const parts = [
      section(path, 'labels', ['id', 'name']),
      section(path, 'fields', ['id', 'key', 'type', 'options']),
      section(path, 'views', ['id', 'name', 'query']),
    ]
    return withSections(call, { head, sections: [members, ...parts], next })
  },
})

const recentEvents = 20

function childSection(path: string, { plural, ...child }: EntityDefinition<ChildOfTask>): Section<Row> {
  const text = child.asChild!.text as string
  const others = otherNames({ plural, ...child })
  return {
    ...{ name: plural, path: `${path}/${plural}` },
    show(row) {
      const author = row.author as { name: string } | null | undefined
      const by = author === undefined ? {} : { by: author?.name ?? null, at: row.createdAt }
      const rest = Object.fromEntries([text, ...others].map((name) => [name, row[name]]))
      return inParts({ id: row.id, ...by, ...rest }, text)
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
    const [etag, version] = [headers.get('etag'), Number(headers.get('docket-version'))]
    const head = inParts({ ...allFields(task), etag, version }, 'description').map(withoutEmpty)
    const history: Section<Event> = {
      ...{ name: 'history', path: `${path}/history`, limit: recentEvents, isExcerpt: true },
      show: (event) => [shownEvent(event)],
    }
    const children = model().ofTask.map((child) => childSection(path, child))
    return withSections(call, { head, sections: [...children, history], next })
  },
})

/** A list, because many clients cannot send an object without declared properties. */
const Where = Type.Array(Type.String({ pattern: '^[^=]+=', description: 'A text such as size=S' }), {
  description:
    'A list of texts such as size=S or estimate.min=2, each key once: values of custom fields by key',
})

/** The filters by fields of a task. Arguments have the same names as the parameters of the list. */
const filters: Record<string, TSchema> = Object.fromEntries(
  fieldParameters.map(([name, { kind, input }]) => [
    name,
    kind === user ? UserName() : optional(withoutNull(input)),
  ]),
)

export const find = tool({
  name: 'find',
  description:
    'Find tasks in one project or in all projects. Shows a short line for each task; fields=preview adds the beginning of the description, full all fields.',
  scope: 'read',
  input: {
    project: optional(ProjectName),
    text: optional(
      Type.String({
        ...{ minLength: 1, maxLength: 1_000 },
        description:
          'A text of 1 to 1000 characters: words of the title, description, comments and subtasks; the last may be incomplete. "A phrase", -without, #42',
      }),
    ),
    ...filters,
    labels: LabelNames('all'),
    anyLabel: LabelNames('at least one'),
    noLabel: Flag('without labels'),
    ready: Flag('not DONE, not blocked, not claimed by others'),
    claimedBy: UserName('id, me or none'),
    blocks: optional(IdOf('task')),
    minAttempts: Count(0, maxAttempts, ': at least this many attempts'),
    where: optional(Where),
    sort: optional(OneOf('FindSort', sorts)),
    limit: Range(1, 100, 'the maximum number of tasks'),
    fields: optional(OneOf('FindFields', details)),
    counts: optional({ ...CountedBy, description: `${CountedBy.description}: counts, no list` }),
    next: Next,
  },
  async run({ project, text, where = [], fields = 'lines', limit, counts, next, ...given }, call) {
    const lists = { labels: given.labels?.join(), anyLabel: given.anyLabel?.join() }
    const q = text?.trim() || undefined
    const query = { projectId: project, q, ...given, ...lists }
    // A list, because the API rejects a key that is given twice.
    const custom = where.map((one) => `field.${one}`.split(/=(.*)/s))
    if (counts) {
      const { body } = await call.get<object>(
        withQuery('/tasks/counts', { ...query, limit, by: counts }, custom),
      )
      return body
    }
    // The version of the project, and the part that a search covers while existing tasks are indexed for the first time.
    const facts: { version?: number; indexed?: string } = {}
    const tasks: Section<Task> = {
      name: 'tasks',
      path: withQuery('/tasks', query, custom),
      ...(limit && { limit, maxPages: 1 }),
      show(task) {
        const row = shownTask(task, fields)
        return [project ? row : { ...row, projectId: task.projectId }]
      },
      onPage(headers) {
        const [version, indexed] = [headers.get('docket-version'), headers.get('docket-indexed')]
        if (version !== null) facts.version ??= Number(version)
        if (indexed !== null && indexed !== 'all') facts.indexed ??= indexed
      },
    }
    const { next: rest, ...found } = await withSections(call, { sections: [tasks], next })
    return { ...found, ...facts, next: rest }
  },
})

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
    next: Next,
  },
  async run({ project, wait, types, exceptActor, next, ...given }, call) {
    const start = next ?? given.after ?? 0
    const query = { after: start, wait, types, exceptActor, limit: pageEvents }
    const path = withQuery(`/projects/${project}/events`, query)
    const page = await call.get<Event[]>(path)
    const shown = page.body.map(shownEvent).filter(openFits())
    const isCut = shown.length < page.body.length
    const cursor = cursorOf(page)
    const version = (types ?? exceptActor) && page.headers.get('docket-version')
    const last = page.body[shown.length - 1]?.seq ?? start
    const after = Number(isCut ? last : (cursor ?? version ?? last))
    return { changes: shown, after, ...((isCut || cursor) && { next: String(after) }) }
  },
})

export const history = tool({
  name: 'history',
  description:
    'List the changes of a project or a task with their authors, newest first. A deleted task has a history too. `batch` is the argument of undo.',
  scope: 'read',
  input: {
    project: optional(ProjectName),
    id: optional(TaskId('The id of a task: lists the events of this task, with the project of each')),
    actor: UserName(),
    types: EventTypes,
    next: Next,
  },
  async run({ project, id, actor, types, next }, call) {
    if (id === undefined && project === undefined)
      throw badRequest('project or id is required: pass a project, or the id of a task')
    const path = id === undefined ? `/projects/${project}/history` : `${taskPath(id)}/history`
    const section = {
      ...{ name: 'history', path: withQuery(path, { actor, type: types }) },
      show: (event: Event) => [{ project: event.projectId, ...shownEvent(event) }],
    }
    return withSections(call, { sections: [section], next })
  },
})
