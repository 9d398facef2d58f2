import { type TSchema, Type } from '@sinclair/typebox'
import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { model } from '../../src/model/model.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { checked, IdOf } from '../../src/schema/input.ts'
import { OneOf, withoutNull } from '../../src/schema/text.ts'
import { maxSeq, maxWaitSeconds } from '../events/schema.ts'
import { otherNames } from '../exports/cells.ts'
import { CountedBy } from '../task-lists/reads.ts'
import { sorts } from '../task-lists/sorts.ts'
import { user } from '../tasks/kinds.ts'
import { fieldParameters, maxAttempts } from '../tasks/schema.ts'
import { Count, EventTypes, Flag, LabelNames, optional, ProjectName, Range } from './tool.ts'
import { TaskId, taskPath, UserName } from './tool.ts'
import { type Call, cursorOf, tool, ToolError, withQuery } from './tool.ts'
import { fittingFrom, inParts, Next, numberOf, type Section, shortened, withSections } from './pages.ts'
import { allFields, details, type Event, hasNames, shownEvent, shownTask } from './names.ts'
import { namesOf, type Task, withoutEmpty } from './names.ts'

type Row = Record<string, unknown> & { id: string }
interface Project extends Row {
  description: string | null
  owner: { name: string } | null
}

const shownProject = ({ id, name, owner, description, textEdits }: Project) => ({
  ...{ id, name, owner: owner?.name, description },
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
      show: ({ user, role }) => [{ name: user?.name ?? null, email: user?.email, role }],
    }
    const parts = [section(path, 'labels', ['name']), section(path, 'fields', ['key', 'type', 'options'])]
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
    const names = await namesOf(call, task.projectId)
    const [etag, version] = [headers.get('etag'), Number(headers.get('docket-version'))]
    const head = inParts({ ...allFields(task, names), etag, version }, 'description').map(withoutEmpty)
    const history: Section<Event> = {
      ...{ name: 'history', path: `${path}/history`, max: recentEvents, isExcerpt: true },
      show: (event) => [shownEvent(event, names)],
    }
    const children = model().ofTask.map((child) => childSection(path, child))
    return withSections(call, { head, sections: [...children, history], next })
  },
})

const isWhere = (where: unknown): boolean =>
  Array.isArray(where)
    ? where.every((one) => typeof one === 'string' && one.indexOf('=') > 0)
    : typeof where === 'object' && where !== null
/** Many clients cannot send an object without declared properties, so the documented form is a list. */
const Where = checked<string[] | Record<string, unknown>>(isWhere, {
  ...{ type: 'array', items: Type.String() },
  description: 'A list of texts such as size=S or estimate.min=2: values of custom fields by key',
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
    const query = { projectId: project, q, ...given, ...lists, ...fieldFilters(where) }
    if (counts) return countTasks(call, { ...query, limit, by: counts })
    // The version of the project, and the part that a search covers while existing tasks are indexed for the first time.
    const facts: { version?: number; indexed?: string } = {}
    const tasks: Section<Task> = {
      name: 'tasks',
      path: withQuery('/tasks', query),
      ...(limit && { max: limit }),
      async show(task) {
        const names = await namesOf(call, task.projectId)
        const row = shownTask(task, fields, names)
        return [project ? row : { ...row, project: names.get(task.projectId) ?? task.projectId }]
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

/** Returns the counts with the names of people and labels. */
async function countTasks(call: Call, query: { projectId: string | undefined; by: string; limit?: number }) {
  const { body } = await call.get<{ counts: { value: string | null }[] }>(withQuery('/tasks/counts', query))
  const names = await namesOf(call, query.projectId!)
  const shown = (value: string | null) => value && (names.get(value) ?? value)
  return { ...body, counts: body.counts.map((one) => ({ ...one, value: shown(one.value) })) }
}

function fieldFilters(where: string[] | Record<string, unknown>): object {
  const given = Array.isArray(where)
    ? where.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)] as const)
    : Object.entries(where)
  const filters: Record<string, string> = {}
  for (const [key, value] of given) {
    if (typeof value === 'object') throw badRequest(`where.${key} must be a text, a number, true or false`)
    if (`field.${key}` in filters) throw badRequest(`where must have each key once, but has ${key} twice`)
    filters[`field.${key}`] = String(value)
  }
  return filters
}

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
    const start = numberOf(next ?? `${given.after ?? 0}`)
    const query = { after: start, wait, types, exceptActor, limit: pageEvents }
    const path = withQuery(`/projects/${project}/events`, query)
    const page = await call.get<Event[]>(path)
    const names = page.body.some(hasNames) ? await namesOf(call, project) : new Map()
    const shown = fittingFrom(page.body.map((event) => shownEvent(event, names)))
    const isCut = shown.length < page.body.length
    const cursor = cursorOf(page)
    const version = (types ?? exceptActor) && page.headers.get('docket-version')
    const last = page.body[shown.length - 1]?.seq ?? start
    const after = isCut ? last : Number(cursor ?? version ?? last)
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
    id: optional(TaskId('The id of a task: lists only events of this task')),
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
