import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { badRequest } from '../../../src/responses/errors.ts'
import { checked, IdOf, Input } from '../../../src/schema/input.ts'
import { OneOf, withoutNull } from '../../../src/schema/text.ts'
import { sorts } from '../../task-lists/sorts.ts'
import { user } from '../../tasks/kinds.ts'
import { fieldParameters } from '../../tasks/schema.ts'
import { openNames } from '../answers/names.ts'
import { Next, type Section, withSections } from '../answers/pages.ts'
import { type Detail, details, shownTask, type Task } from '../answers/tasks.ts'
import { projectIdOf, needProject, openWithIds } from '../names/references.ts'
import { withQuery } from '../requests.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { Count, Flag, LabelNames, ProjectName, UserName } from './arguments.ts'

const optional = Type.Optional
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
const filterArguments: Record<string, TSchema> = Object.fromEntries(
  fieldParameters.map(([name, { kind, input }]) => [
    name,
    kind === user ? UserName : optional(withoutNull(input)),
  ]),
)

const input = Input({
  project: optional(ProjectName),
  text: optional(
    Type.String({
      minLength: 1,
      maxLength: 1_000,
      description:
        'A text of 1 to 1000 characters: words of the title, description, comments and subtasks; the last may be incomplete. "A phrase", -without, #42',
    }),
  ),
  ...filterArguments,
  labels: LabelNames('all'),
  anyLabel: LabelNames('at least one'),
  noLabel: Flag('without labels'),
  ready: Flag('not DONE, not blocked, not claimed by others'),
  claimedBy: optional(Type.String({ maxLength: 300, description: 'A name, email, id, me or none' })),
  blocks: optional(IdOf('task')),
  where: optional(Where),
  sort: optional(OneOf('FindSort', sorts)),
  limit: Count(1, 100, 'A whole number from 1 to 100: the maximum number of tasks'),
  fields: optional(OneOf('FindFields', details)),
  next: Next,
})

type Arguments = Static<typeof input>

/** The maximum number of tasks of an answer, which contains at most 20,000 characters of them. */
const maxTasks: Record<Detail, number> = { lines: 100, preview: 50, full: 20 }

/**
 * `version` is the version of the project; missing if the search has no project. `indexed` is the part that a search
 * covers while existing tasks are indexed for the first time.
 */
interface Facts {
  version?: number
  indexed?: string
}

function foundTasks(call: Call, query: { projectId?: string }, detail: Detail, facts: Facts): Section<Task> {
  const namesOf = openNames(call)
  return {
    name: 'tasks',
    path: withQuery('/tasks', query),
    async show(task) {
      const { projectId } = task
      const names = await namesOf(projectId)
      const row = shownTask(task, detail, names)
      return { row: query.projectId ? row : { ...row, project: names.get(projectId) ?? projectId } }
    },
    onPage(headers) {
      const [version, indexed] = [headers.get('docket-version'), headers.get('docket-indexed')]
      if (version !== null) facts.version ??= Number(version)
      if (indexed !== null && indexed !== 'all') facts.indexed ??= indexed
    },
  }
}

export const find: Tool = {
  name: 'find',
  description:
    'Find tasks in one project or in all projects. Shows a short line for each task; fields=preview adds the beginning of the description, full all fields.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ project, text, where, fields = 'lines', limit, next, ...given }: Arguments, call: Call) {
    const projectId = project === undefined ? undefined : await projectIdOf(call, project)
    if (projectId === undefined && needProject(given)) throw projectNeeded()
    const { labels, anyLabel, ...filter } = projectId ? await openWithIds(call, projectId)(given) : given
    const lists = { labels: labels?.join(), anyLabel: anyLabel?.join() }
    const q = text?.trim() || undefined
    const query = { projectId, q, ...filter, ...lists, ...fieldFilters(where) }
    const facts: Facts = {}
    const section = foundTasks(call, query, fields, facts)
    const max = Math.min(limit ?? Infinity, maxTasks[fields])
    const { next: rest, ...found } = await withSections(
      call,
      () => ({ row: {} }),
      [{ ...section, max }],
      next,
    )
    return { ...found, ...facts, next: rest }
  },
}

function fieldFilters(where: Arguments['where'] = []): object {
  const filters = Array.isArray(where)
    ? where.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)] as const)
    : Object.entries(where)
  for (const [index, [key, value]] of filters.entries()) {
    if (typeof value === 'object') throw badRequest(`where.${key} must be a text, a number, true or false`)
    if (filters.findIndex(([other]) => other === key) < index)
      throw badRequest(`where must have each key once, but has ${key} twice`)
  }
  return Object.fromEntries(filters.map(([key, value]) => [`field.${key}`, String(value)]))
}

const projectNeeded = () =>
  new ToolError(400, 'Names of users and labels need a project', 'Pass project too, or ids in place of names')
