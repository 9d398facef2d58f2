import { type TSchema, Type } from '@sinclair/typebox'
import { badRequest } from '../../../src/responses/errors.ts'
import { checked, IdOf } from '../../../src/schema/input.ts'
import { OneOf, withoutNull } from '../../../src/schema/text.ts'
import { CountedBy } from '../../task-lists/counts.ts'
import { sorts } from '../../task-lists/sorts.ts'
import { user } from '../../tasks/kinds.ts'
import { fieldParameters, maxAttempts } from '../../tasks/schema.ts'
import { Next, type Section, withSections } from '../answers/pages.ts'
import { type Detail, details, shownTask, type Task } from '../answers/rows.ts'
import { type Call, withQuery } from '../call.ts'
import { namesOf } from '../names.ts'
import { tool } from '../tool.ts'
import { Count, Flag, LabelNames, ProjectName, Range, UserName } from './arguments.ts'

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
const filters: Record<string, TSchema> = Object.fromEntries(
  fieldParameters.map(([name, { kind, input }]) => [
    name,
    kind === user ? UserName() : optional(withoutNull(input)),
  ]),
)

/** The maximum number of tasks of an answer, which contains at most 20,000 characters of them. */
const maxTasks: Record<Detail, number> = { lines: 100, preview: 50, full: 20 }

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
      max: Math.min(limit ?? Infinity, maxTasks[fields]),
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
    const { next: rest, ...found } = await withSections(call, { sections: [tasks as Section], next })
    return { ...found, ...facts, next: rest }
  },
})

/** Returns the counts with the names of people and labels. */
async function countTasks(call: Call, query: { projectId: string | undefined; by: string; limit?: number }) {
  const { body } = await call.get<{ counts: { value: string | null }[] }>(withQuery('/tasks/counts', query))
  const names = await namesOf(call, query.projectId!)
  const counts = body.counts.map((one) => ({
    ...one,
    value: one.value && (names.get(one.value) ?? one.value),
  }))
  return { ...body, counts }
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
