import { type Static, Type } from '@sinclair/typebox'
import { canonicalId, isId } from '../../src/id-format.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { checked, IdOf } from '../../src/schema/input.ts'
import { sampleId } from '../../src/schema/response.ts'
import { Text } from '../../src/schema/text.ts'
import { SearchText } from '../search/schema.ts'
import type { Matching } from '../search/matching-tasks.ts'
import { readSearchText, type SearchQuery } from '../search/text/query.ts'
import { type FieldParameter, fieldPrefix, readFieldParameters } from './field-parameters.ts'

/** The most ids in `labels` and `anyLabel`. */
const maxLabels = 50

const isIdList = (value: unknown) => {
  const ids = typeof value === 'string' ? value.split(',') : []
  return ids.length >= 1 && ids.length <= maxLabels && ids.every((id) => isId(canonicalId(id)))
}

const Labels = (which: string) =>
  Type.Optional(
    checked<string>(isIdList, {
      type: 'string',
      description: `Ids of labels, separated by commas, at most ${maxLabels}: lists the tasks with ${which} of these labels`,
      examples: [sampleId],
    }),
  )

const isTrue = (value: unknown) => value === 'true'
const True = (description: string) =>
  Type.Optional(
    checked<'true'>(isTrue, { type: 'string', enum: ['true'], description: `true: ${description}` }),
  )

export const filterParameters = {
  q: Type.Optional(
    SearchText('The words of a search, as in GET /search. Comments and subtasks count as text of their task'),
  ),
  labels: Labels('all'),
  anyLabel: Labels('at least one'),
  noLabel: True('lists the tasks without labels'),
  blocks: Type.Optional(
    Type.Unsafe<string>({ ...IdOf('task'), description: 'The id of a task: lists the tasks that it blocks' }),
  ),
  ready: True(
    'lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted',
  ),
  claimedBy: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now',
      examples: ['me'],
    }),
  ),
  externalId: Type.Optional(
    Type.Unsafe<string>({
      ...Text(1, 200, 'JIRA-42'),
      description: 'A text of 1 to 200 characters: lists the task with this external id. Needs projectId',
    }),
  ),
}

const fieldName = `${fieldPrefix}{key}`
/** In the OpenAPI document, this parameter represents all query parameters `field.<key>`. */
export const fieldParameter = {
  [fieldName]: Type.Optional(
    Type.String({
      description:
        'A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId',
      examples: ['3'],
    }),
  ),
}

export const badBlocks = () => badRequest('blocks must be the id of a task')
export const badClaimedBy = () => badRequest('claimedBy must be the id of a user, "me" or "none"')
export const needsProject = (name: string) =>
  badRequest(`${name} needs a projectId: each project has its own external ids and fields`)

type Query = Static<ReturnType<typeof Type.Object<typeof filterParameters>>> & Record<string, unknown>

/** Filters of the list that have no index in the order of the list. */
export interface Filters {
  labels?: string[]
  anyLabel?: string[]
  noLabel?: boolean
  blocks?: string
  ready?: boolean
  claimedBy?: string
  isUnclaimed?: boolean
  externalId?: string
  fields?: FieldParameter[]
  q?: SearchQuery
  foundIds?: string[]
  matching?: Matching
}

const names = [
  ...(['labels', 'anyLabel', 'noLabel', 'blocks', 'ready'] as const),
  ...(['claimedBy', 'isUnclaimed', 'externalId', 'fields', 'foundIds', 'matching'] as const),
]
/** True if every task of the list refers to other rows. */
export const selectsReferences = ({ labels, anyLabel, blocks, fields }: Filters) =>
  (labels ?? anyLabel ?? blocks ?? fields) !== undefined
export const hasFilters = (filters: Filters) => names.some((name) => filters[name] !== undefined)

export function readFilters(query: Query, userId: string): Filters {
  const filters: Filters = {}
  if (query.labels) filters.labels = idsIn(query.labels)
  if (query.anyLabel) filters.anyLabel = idsIn(query.anyLabel)
  if (query.noLabel) filters.noLabel = true
  if (query.ready) filters.ready = true
  if (query.blocks !== undefined) filters.blocks = idOr(badBlocks, query.blocks)
  if (query.claimedBy === 'none') filters.isUnclaimed = true
  else if (query.claimedBy !== undefined)
    filters.claimedBy = query.claimedBy === 'me' ? userId : idOr(badClaimedBy, query.claimedBy)
  if (query.externalId !== undefined) filters.externalId = query.externalId.trim()
  if (query.q !== undefined) filters.q = readSearchText(query.q)
  const fields = readFieldParameters(query)
  if (fields.length > 0) filters.fields = fields
  const [name = filters.externalId && 'externalId'] = fields.map((one) => one.name)
  if (name && query.projectId === undefined) throw needsProject(name)
  return filters
}

const idsIn = (text: string) => [...new Set(text.split(',').map(canonicalId))]

function idOr(error: () => Error, text: string): string {
  const id = canonicalId(text)
  if (!isId(id)) throw error()
  return id
}
