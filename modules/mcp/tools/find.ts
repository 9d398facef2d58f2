import { type Static, Type } from '@sinclair/typebox'
import { IdOf, Input } from '../../../src/schema/input.ts'
import { Instant, OneOf } from '../../../src/schema/text.ts'
import { sorts } from '../../task-lists/list-query.ts'
import { Priority, Status } from '../../tasks/schema.ts'
import { details } from '../answers/tasks.ts'
import { findTasks } from '../answers/found-tasks.ts'
import { projectIdOf } from '../names/name-lookup.ts'
import { needProject, openWithIds } from '../names/references.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { ProjectName } from './arguments.ts'

const optional = Type.Optional
const Names = (which: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      minItems: 1,
      maxItems: 50,
      description: `A list of names or ids: tasks with ${which} of these labels`,
    }),
  )
const OnlyTrue = (description: string) =>
  optional(Type.Literal(true, { description: `true: ${description}` }))

const FieldValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()], {
  description: 'A text, a number, true or false',
})

const input = Input({
  project: optional(ProjectName),
  text: optional(
    Type.String({
      minLength: 1,
      maxLength: 1_000,
      description:
        'Words of the title, description, comments and subtasks; the last may be incomplete. "A phrase", -without, #42',
    }),
  ),
  status: optional(Status),
  priority: optional(Priority),
  assigneeId: optional(Type.String({ maxLength: 300, description: 'A name, email, id or me' })),
  labels: Names('all'),
  anyLabel: Names('at least one'),
  noLabel: OnlyTrue('without labels'),
  ready: OnlyTrue('not DONE, not blocked, not claimed by others'),
  claimedBy: optional(Type.String({ maxLength: 300, description: 'A name, email, id, me or none' })),
  blocks: optional(IdOf('task')),
  dueBefore: optional(Instant()),
  dueAfter: optional(Instant()),
  externalId: optional(Type.String({ minLength: 1, maxLength: 200 })),
  where: optional(
    Type.Record(Type.String(), FieldValue, {
      description: 'Custom fields by key: {"size":"S","estimate.min":2}',
    }),
  ),
  sort: optional(OneOf('FindSort', sorts)),
  limit: optional(
    Type.Integer({ minimum: 1, maximum: 100, description: 'A number from 1 to 100: the most tasks' }),
  ),
  fields: optional(OneOf('FindFields', details)),
  next: optional(Type.String({ maxLength: 500, description: '`next` of the previous answer' })),
})

export const find: Tool = {
  name: 'find',
  description:
    'Find tasks in one project or in all projects. Shows a short line for each task; fields=preview adds the beginning of the description, full all fields.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run(
    { project, text, where = {}, fields = 'lines', limit, next, ...given }: Static<typeof input>,
    call: Call,
  ) {
    const projectId = project === undefined ? undefined : await projectIdOf(call, project)
    if (projectId === undefined && needProject(given)) throw projectNeeded()
    const { labels, anyLabel, ...filter } = projectId ? await openWithIds(call, projectId)(given) : given
    const fieldFilters = Object.entries(where).map(([key, value]) => [`field.${key}`, value])
    const lists = { labels: labels?.join(), anyLabel: anyLabel?.join() }
    const q = text?.trim() || undefined
    const query = { projectId, q, ...filter, ...lists, ...Object.fromEntries(fieldFilters) }
    return findTasks(call, { query, detail: fields, limit, cursor: next })
  },
}

const projectNeeded = () =>
  new ToolError(400, 'Names of users and labels need a project', 'Pass project too, or ids in place of names')
