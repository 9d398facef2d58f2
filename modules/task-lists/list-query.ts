import { type TSchema, Type } from '@sinclair/typebox'
import { IdOf, OneOf } from '../../src/schema/input.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { canonicalId } from '../../src/id-format.ts'
import { Cursor, Limit, readCursor, readLimit } from '../../src/reads/pages.ts'
import { unknownField } from '../../src/schema/validation.ts'
import { SearchText } from '../search/schema.ts'
import { readSearchText, searchTextErrors } from '../search/text.ts'
import { badUser, parameterOf } from '../tasks/kinds.ts'
import { fieldParameters, taskFields } from '../tasks/schema.ts'
import { fieldPrefix, readFieldParameter, badBlocks, badClaimedBy, filters } from './filters.ts'
import { byPosition, sortNamed, sorts, type Bounds, type FieldParameter, type TaskFilter } from './sorts.ts'

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

const asOfWithSearch = () => badRequest('q cannot be combined with asOf')
export const needsProject = (name: string) =>
  badRequest(`${name} needs a projectId: each project has its own versions, order, external ids and fields`)

export const badListQuery = () => [
  ...[badUser('assigneeId'), badBlocks(), badClaimedBy()],
  ...[...['asOf', 'sort=position', 'externalId'].map(needsProject), asOfWithSearch()],
  ...searchTextErrors(),
]

type Read = (found: Pick<TaskFilter, 'is' | 'bounds' | 'others'>, text: string, callerId: string) => void

/** The functions that read filters, by the name of the parameter. */
const readers = new Map<string, Read>(Object.keys(parameters).map((name) => [name, () => {}]))
for (const [name, { kind, filter }] of taskFields) {
  if (filter?.index === 'sorted')
    readers.set(
      name,
      ({ is }, text, callerId) => void (is[name] = kind!.read(text, name, callerId) as string),
    )
  for (const [n, parameter] of (filter?.bounds ?? []).entries())
    readers.set(parameter, ({ bounds }, text) => {
      const known = bounds.find(({ field }) => field === name)
      const bound: Bounds = known ?? { field: name, key: kind!.key!, from: undefined, to: undefined }
      bound[n === 0 ? 'from' : 'to'] = String(kind!.read(text, parameter, ''))
      if (!known) bounds.push(bound)
    })
}
for (const [name, { read }] of Object.entries(filters))
  if (read)
    readers.set(name, ({ others }, text, callerId) => void others.push({ name, value: read(text, callerId) }))

type Query = Record<string, string | undefined>

/** Without `sort`, tasks are sorted by a field that has bounds, else by creation. */
export function readTaskFilter(
  query: Query,
  { userId, token }: Pick<Caller, 'userId' | 'token'>,
): TaskFilter {
  if (query.q !== undefined && query.asOf !== undefined) throw asOfWithSearch()
  const found: Parameters<Read>[0] = { is: {}, bounds: [], others: [] }
  let custom: FieldParameter[] | undefined
  for (const name in query) {
    const read = readers.get(name)
    const text = query[name]
    if (text === undefined) continue
    if (read) read(found, text, userId)
    else if (name.startsWith(fieldPrefix)) (custom ??= []).push(readFieldParameter(name, text))
    else throw unknownField(name, Object.keys(parameters))
  }
  const { is, bounds, others } = found
  const projectId = query.projectId && canonicalId(query.projectId)
  const sortName = query.sort ?? bounds.find(({ field }) => sortNamed.has(field))?.field ?? 'createdAt'
  const descends = sortName.startsWith('-')
  const sort = sortNamed.get(descends ? sortName.slice(1) : sortName)!
  if (sort === byPosition && projectId === undefined) throw needsProject('sort=position')
  const needing = custom?.[0]?.name ?? others.find(({ name }) => filters[name]!.needsProject)?.name
  if (needing && projectId === undefined) throw needsProject(needing)
  return {
    caller: userId,
    projectId,
    tokenProjects: token?.projects ?? null,
    sort,
    descends,
    is,
    bounds,
    others,
    ready: query.ready !== undefined,
    fields: custom,
    q: query.q === undefined ? undefined : readSearchText(query.q),
    limit: readLimit(query.limit, 50, 200),
    after: query.cursor === undefined ? null : readCursor(query.cursor, sort.parts),
  }
}
