import { type TSchema, Type } from '@sinclair/typebox'
import { IdOf } from '../../src/schema/input.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { canonicalId } from '../../src/id-format.ts'
import { Cursor, Limit, readCursor, readLimit } from '../../src/reads/pages.ts'
import { OneOf } from '../../src/schema/text.ts'
import { unknownField } from '../../src/schema/validation.ts'
import { SearchText } from '../search/schema.ts'
import { readSearchText, searchTextErrors } from '../search/text/query.ts'
import { badUser, parameterOf } from '../tasks/kinds.ts'
import { fieldParameters, taskFields } from '../tasks/schema.ts'
import { fieldPrefix, readFieldParameters } from './custom-fields.ts'
import { badBlocks, badClaimedBy, filters } from './filters.ts'
import { byPosition, sortNamed, sorts } from './sorts.ts'
import type { Bounds, TaskFilter } from './task-filter.ts'

/** The fields that a filter selects within the indexes of the list. */
const sortedFields = taskFields.filter(([, { filter }]) => filter?.index === 'sorted')

const readers = Object.entries(filters).flatMap(([name, { read }]) => (read ? [[name, read] as const] : []))

const parameters: Record<string, TSchema> = {
  projectId: IdOf('project'),
  ...Object.fromEntries(fieldParameters.map(([name, field]) => [name, parameterOf(field)])),
  q: SearchText(
    'The words of a search, as in GET /search. Comments and subtasks count as text of their task',
  ),
  ...Object.fromEntries(
    Object.entries(filters).flatMap(([name, { parameter }]) => (parameter ? [[name, parameter]] : [])),
  ),
  sort: OneOf('TaskSort', sorts),
  limit: Limit(50, 200),
  cursor: Cursor(),
  asOf: AsOfParameter(),
}

/** In the OpenAPI document, this parameter represents all query parameters `field.<key>`. */
const customField = Type.String({
  description:
    'A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId',
  examples: ['3'],
})

/** `readTaskFilter` rejects unknown names, because the names of custom fields are not known here. */
export const ListTasksQuery = Type.Object(
  Type.Partial(Type.Object({ ...parameters, [`${fieldPrefix}{key}`]: customField })).properties,
  { additionalProperties: Type.String() },
)

export const asOfNeedsProject = () => badRequest('asOf needs a projectId: each project has its own versions')
export const searchOfPast = () => badRequest('q cannot be combined with asOf')
const positionNeedsProject = () =>
  badRequest('sort=position needs a projectId: each project has its own order')
const needsProject = (name: string) =>
  badRequest(`${name} needs a projectId: each project has its own external ids and fields`)

export const badListQuery = () => [
  ...[badUser('assigneeId'), badBlocks(), badClaimedBy()],
  ...[asOfNeedsProject(), positionNeedsProject(), needsProject('externalId'), searchOfPast()],
  ...searchTextErrors(),
]

type Query = Record<string, string | undefined>

/** Without `sort`, tasks are sorted by a field that has bounds, else by creation. */
export function readTaskFilter(
  query: Query,
  { userId, token }: Pick<Caller, 'userId' | 'token'>,
): TaskFilter {
  for (const name in query)
    if (!Object.hasOwn(parameters, name) && !name.startsWith(fieldPrefix))
      throw unknownField(name, Object.keys(parameters))
  if (query.q !== undefined && query.asOf !== undefined) throw searchOfPast()
  const projectId = query.projectId && canonicalId(query.projectId)
  const is: TaskFilter['is'] = {}
  for (const [name, { kind }] of sortedFields)
    if (query[name] !== undefined) is[name] = kind!.read(query[name], name, userId) as string
  const bounds = boundsIn(query)
  const sortName = query.sort ?? bounds.find(({ field }) => sortNamed.has(field))?.field ?? 'createdAt'
  const descends = sortName.startsWith('-')
  const sort = sortNamed.get(descends ? sortName.slice(1) : sortName)!
  if (sort === byPosition && projectId === undefined) throw positionNeedsProject()
  const others = othersIn(query, userId)
  const custom = readFieldParameters(query)
  const name = custom[0]?.name ?? others.find((one) => filters[one.name]!.needsProject)?.name
  if (name && projectId === undefined) throw needsProject(name)
  return {
    ...{ caller: userId, projectId, tokenProjects: token?.projects ?? null },
    ...{ sort, descends, is, bounds, others, ready: query.ready !== undefined },
    ...(custom.length > 0 && { fields: custom }),
    ...(query.q !== undefined && { q: readSearchText(query.q) }),
    limit: readLimit(query.limit, 50, 200),
    after: query.cursor === undefined ? null : readCursor(query.cursor, sort.parts),
  }
}

function boundsIn(query: Query): Bounds[] {
  const found: Bounds[] = []
  for (const [field, { kind, filter }] of taskFields) {
    if (!filter?.bounds) continue
    const [from, to] = filter.bounds.map((name) => {
      const text = query[name]
      return text === undefined ? undefined : String(kind!.read(text, name, ''))
    })
    if (from !== undefined || to !== undefined) found.push({ field, key: kind!.key!, from, to })
  }
  return found
}

const othersIn = (query: Query, callerId: string): TaskFilter['others'] =>
  readers.flatMap(([name, read]) => {
    const text = query[name]
    return text === undefined ? [] : [{ name, value: read(text, callerId) }]
  })
