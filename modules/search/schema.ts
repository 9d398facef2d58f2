import { Type, type Static } from '@sinclair/typebox'
import { canonicalId } from '../../src/id-format.ts'
import { view } from '../../src/model/view.ts'
import { Cursor, isIdPart, Limit, readCursor, readLimit } from '../../src/reads/pages.ts'
import { checked, IdOf, Input, OneOf, parseInstant } from '../../src/schema/input.ts'
import { named, Id, OrNull, sampleId } from '../../src/schema/response.ts'
import { readSearchText, type Snippet } from './text.ts'

export const types = ['task', 'comment', 'project'] as const
export type HitType = (typeof types)[number]

const isTypeList = (value: unknown) =>
  typeof value === 'string' && value.split(',').every((one) => (types as readonly string[]).includes(one))

/** The schema accepts every text: `readSearchText` checks the length and the words. */
const isText = (value: unknown) => typeof value === 'string'

const searchText =
  'A text of 1 to 1000 characters: words that must all match, the last one also as the start of a word; "a phrase"; -word and -"a phrase" exclude; #42 is the number of a task. A full id or an external id also matches, and only these match if no word, phrase or number must match'

export const SearchText = (description = searchText) =>
  checked<string>(isText, {
    type: 'string',
    minLength: 1,
    maxLength: 1_000,
    description,
    examples: ['oil whee'],
  })

export const SearchParameters = Input({
  q: SearchText(),
  types: Type.Optional(
    checked<string>(isTypeList, {
      type: 'string',
      description: 'A list of task, comment, project, separated by commas: only hits of these types',
      examples: ['task,comment'],
    }),
  ),
  projectId: Type.Optional(IdOf('project')),
  limit: Limit(50, 200),
  cursor: Cursor(),
})

const Offsets = Type.Unsafe<Snippet['matches']>({
  type: 'array',
  items: { type: 'array', minItems: 2, maxItems: 2, items: { type: 'integer', minimum: 0 } },
  description:
    'The matched words in `text`: the start and the end of each, in UTF-16 code units as JavaScript counts characters. The end is exclusive; the ranges are sorted and do not overlap',
  examples: [[[10, 16]]],
})

const snippetText =
  'At most about 200 characters of the description or the comment; of the title if only the title matches. A plain text, not HTML'

const schema = Type.Object({
  type: OneOf('HitType', types),
  id: Id('The task, comment or project'),
  projectId: Id('The project that contains the hit; for a project, the project itself'),
  taskId: OrNull(
    Type.String({ format: 'uuid' }),
    'The task, or the task of the comment; null for a project',
    sampleId,
  ),
  title: Type.String({
    description: 'The title of the task, also for a comment, or the name of the project',
    examples: ['Oil the wheels'],
  }),
  snippet: named(
    'Snippet',
    Type.Object({
      text: Type.String({ description: snippetText, examples: ['The rear wheels need oil'] }),
      matches: Offsets,
    }),
  ),
  fuzzy: Type.Optional(
    Type.Literal(true, {
      description: 'Present if nothing contains all words, and this title is similar to `q`',
      examples: [true],
    }),
  ),
})

export type Hit = Static<typeof schema>
export const hitView = view<Hit>({ name: 'SearchHit', schema, hasNoEtag: true })

/** The place of a hit in the order of hits: by rank, then the newest first. */
export interface HitKey {
  rank: number
  at: string
  id: string
}

export const compareTimes = (a: HitKey, b: HitKey): number =>
  a.at + a.id > b.at + b.id ? -1 : a.id === b.id ? 0 : 1
export const compareHits = (a: HitKey, b: HitKey): number => a.rank - b.rank || compareTimes(a, b)

const isTime = (part: unknown) => typeof part === 'string' && parseInstant(part) === part
const isRank = (part: unknown) => typeof part === 'string' && /^\d\.?\d{0,20}$/.test(part)
const cursorParts = [isRank, isTime, isIdPart]

export type SearchRequest = ReturnType<typeof readSearchRequest>

/** @throws HttpError 400 if `q`, `limit` or `cursor` is invalid */
export function readSearchRequest(query: Static<typeof SearchParameters>) {
  const cursor = query.cursor === undefined ? [] : readCursor(query.cursor, [...cursorParts, ...cursorParts])
  const keyAt = (n: number): HitKey | undefined =>
    cursor.length > 0 ? { rank: Number(cursor[n]), at: cursor[n + 1]!, id: cursor[n + 2]! } : undefined
  return {
    query: readSearchText(query.q),
    types: types.filter((one) => !query.types || (query.types.split(',') as HitType[]).includes(one)),
    projectId: query.projectId && canonicalId(query.projectId),
    limit: readLimit(query.limit, 50, 200),
    after: keyAt(0),
    /** The newest hit of the first page: later hits are not on the next pages, so that no hit is repeated. */
    newest: keyAt(3),
  }
}

export const cursorOf = (keys: HitKey[]): string[] =>
  keys.flatMap(({ rank, at, id }) => [String(rank), at, id])
