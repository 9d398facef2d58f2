import { type Static, Type } from '@sinclair/typebox'
import { IdOf } from '../../src/schema/input.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { canonicalId, isId } from '../../src/id-format.ts'
import { Cursor, isIdPart, Limit, readCursor, readLimit } from '../../src/reads/pages.ts'
import { Instant, OneOf, parseInstant } from '../../src/schema/text.ts'
import { searchTextErrors } from '../search/text/query.ts'
import { fieldParameter, filterParameters, readFilters } from './parameters.ts'
import { fieldPrefix } from './field-parameters.ts'
import { unknownField } from '../../src/schema/validation.ts'
import { Priority, Status } from '../tasks/schema.ts'

export const sorts = ['createdAt', '-createdAt', 'dueDate', '-dueDate', 'position'] as const

const parameters = {
  projectId: Type.Optional(IdOf('project')),
  status: Type.Optional(Status),
  priority: Type.Optional(Priority),
  assigneeId: Type.Optional(
    Type.String({ maxLength: 100, description: 'The id of a user, or "me"', examples: ['me'] }),
  ),
  dueBefore: Type.Optional(Instant()),
  dueAfter: Type.Optional(Instant()),
  ...filterParameters,
  sort: Type.Optional(OneOf('TaskSort', sorts)),
  limit: Limit(50, 200),
  cursor: Cursor(),
  asOf: AsOfParameter(),
}

/** `readTaskFilter` rejects unknown names, because the names of fields are not known here. */
export const ListTasksQuery = Type.Object(
  { ...parameters, ...fieldParameter },
  { additionalProperties: Type.String() },
)

export const asOfNeedsProject = () => badRequest('asOf needs a projectId: each project has its own versions')
export const searchOfPast = () => badRequest('q cannot be combined with asOf')
const positionNeedsProject = () =>
  badRequest('sort=position needs a projectId: each project has its own order')
const badAssignee = () => badRequest('assigneeId must be the id of a user, or "me"')

export const badListQuery = () => [
  badAssignee(),
  asOfNeedsProject(),
  positionNeedsProject(),
  searchOfPast(),
  ...searchTextErrors(),
]

export type TaskFilter = ReturnType<typeof readTaskFilter>

/** Without `sort`, tasks are sorted by due date if filtered by due date, else by creation. */
export function readTaskFilter(query: Static<typeof ListTasksQuery>, { userId, token }: Caller) {
  for (const name in query)
    if (!Object.hasOwn(parameters, name) && !name.startsWith(fieldPrefix))
      throw unknownField(name, Object.keys(parameters))
  if (query.q !== undefined && query.asOf !== undefined) throw searchOfPast()
  const { status, priority } = query
  const projectId = query.projectId && canonicalId(query.projectId)
  const assigneeId = query.assigneeId === 'me' ? userId : query.assigneeId && canonicalId(query.assigneeId)
  if (assigneeId !== undefined && !isId(assigneeId)) throw badAssignee()
  const [dueBefore, dueAfter] = [instant(query.dueBefore), instant(query.dueAfter)]
  const sort = query.sort ?? (dueBefore || dueAfter ? 'dueDate' : 'createdAt')
  if (sort === 'position' && projectId === undefined) throw positionNeedsProject()
  const parts =
    sort === 'position' ? [isKeyPart] : sort.endsWith('dueDate') ? [isDuePart, isIdPart] : [isIdPart]
  return {
    ...{ caller: userId, projectId, status, priority, assigneeId, dueBefore, dueAfter, sort },
    ...readFilters(query, userId),
    tokenProjects: token?.projects ?? null,
    limit: readLimit(query.limit, 50, 200),
    /** The sort key of the last row on the previous page: [id], [due date, id], or [position key]. */
    after: query.cursor === undefined ? null : readCursor(query.cursor, parts),
  }
}

const instant = (text?: string) => (text && parseInstant(text)) || undefined

/** Accepts only the format of this API, because Postgres may read another format as another time. */
const isDuePart = (part: unknown) =>
  part === null || (typeof part === 'string' && parseInstant(part) === part)

const isKeyPart = (part: unknown) => typeof part === 'string' && /^[0-9A-Za-z]{1,100}$/.test(part)
