import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Scope, scopeNeeded, signInNeeded } from '../identity/rights.ts'
import { invalid } from '../schema/validation.ts'
import type { Streamed } from '../commands/query.ts'
import { badKey, type ErrorStatus, givenTwice, type Refusal } from '../wire/refusals.ts'
import { requireNone } from '../wire/request-url.ts'
import { answerExample } from './example.ts'
import { alsoByAccept, headersOf, locationAt, neverKept, referredTo } from './headers.ts'
import { generalAnswer, notModified, refusalAnswer } from './refusals.ts'

interface Operation {
  /** A verb and what it is done to: the name that clients call it by. */
  id: string
  tag: string
  summary: string
  description?: string
  /** Who asks cannot say what they have already, as who reads can. */
  does: 'read' | 'ask' | 'add' | 'change'
  /** The body it takes, or its query. */
  body?: TSchema
  query?: TSchema
  answers: Answer
  /** What it refuses in words of its own. */
  refuses?: Refusal[]
  /** Needs no token. */
  open?: boolean
  /** What an API token needs for it. Without one it takes a sign-in token. */
  scope?: Scope
}

interface Answer {
  status?: 200 | 201 | 202 | 204
  description: string
  /** None of an answer without a body. */
  schema?: TSchema
  example?: object
  /** A page of a list: leads to the next. */
  paged?: boolean
  /** Has an ETag, or may be kept nowhere. Reads have one always. */
  tagged?: boolean
  /** A write that says the project's version. Reads inside one do always. */
  versioned?: boolean
  secret?: boolean
  /** The path below /api/v1 of what was made. */
  madeAt?: string
  /** Server-sent events, in place of the rest or beside it. */
  streams?: Streamed
  onlyStreams?: boolean
}

/**
 * The document's side of a route, and its query: a parameter that is not in it is refused. What is answered is not
 * checked at run time: views are typed, and tests hold them to these schemas.
 */
export function operation({ id, tag, summary, description, answers, open, scope, ...asked }: Operation) {
  const { does, body, query } = asked
  const refuses = open ? (asked.refuses ?? []) : withTokens(asked.refuses, scope)
  const isWrite = does === 'add' || does === 'change'
  const told = isWrite || body ? [wrongly(asked), ...refuses] : [...refuses, wrongly(asked)]
  const own = Map.groupBy(told, ({ status }) => status)
  const statuses: ErrorStatus[] = [
    ...([414, 429, 500, 503] as const),
    ...(open ? [] : ([401] as const)),
    ...(body ? ([408, 413, 415] as const) : []),
    ...(isWrite ? ([422] as const) : []),
    ...(does === 'change' ? ([412] as const) : []),
  ]
  return {
    ...(query && { query }),
    ...(!query && { transform: requireNone }),
    detail: {
      operationId: id,
      tags: [tag],
      summary,
      description: [description, open ? '' : tokenFor(scope)].filter(Boolean).join(' '),
      security: open ? [] : takes(scope),
      ...(scope && { 'x-scope': scope }),
      responses: {
        [answers.status ?? 200]: success(answers, does),
        ...(does === 'read' && { 304: answers.streams ? notModifiedStream : notModifiedPage }),
        ...Object.fromEntries(statuses.map((status) => [status, generalAnswer(status)])),
        ...Object.fromEntries([...own].map(([status, refusals]) => [status, refusalAnswer(refusals)])),
      },
    },
  }
}

const tokenFor = (scope?: Scope): string =>
  scope ? `An API token needs the scope ${scope}.` : 'Takes a sign-in token.'

const takes = (scope?: Scope): Record<string, string[]>[] => [
  { bearer: [] },
  ...(scope ? [{ apiToken: [] }] : []),
]

/** What is refused of API tokens, in the order in which it is looked at. Every one may read. */
function withTokens(refuses: Refusal[] = [], scope?: Scope): Refusal[] {
  if (!scope) return [signInNeeded(), ...refuses]
  return scope === 'read' ? refuses : [...refuses, scopeNeeded(scope)]
}

const notModifiedPage = { $ref: '#/components/responses/NotModified' }
const notModifiedStream = { ...notModified, headers: { ...notModified.headers, Vary: alsoByAccept } }

function success(answer: Answer, does: Operation['does']) {
  const { description, paged, tagged, versioned, secret, madeAt, streams } = answer
  const names =
    does === 'read' ? headersOf[paged ? 'page' : 'read'] : headersOf[does === 'ask' ? 'ask' : 'write']
  const content = contentOf(answer)
  return {
    description,
    headers: {
      ...referredTo(names),
      ...(tagged && referredTo(['ETag'])),
      ...(versioned && referredTo(['Docket-Version'])),
      ...(secret && { 'Cache-Control': neverKept }),
      ...(streams && { ...referredTo(['X-Accel-Buffering']), Vary: alsoByAccept }),
      ...(madeAt && { Location: locationAt(madeAt) }),
    },
    ...(Object.keys(content).length > 0 && { content }),
  }
}

const contentOf = ({ schema, example, streams, onlyStreams }: Answer) => ({
  ...(schema &&
    !onlyStreams && { 'application/json': { schema, example: example ?? answerExample(schema) } }),
  ...(streams && { 'text/event-stream': streams }),
})

/** What is said of a request that does not fit: the very words, for the same check says them. */
function wrongly({ does, body, query }: Pick<Operation, 'does' | 'body' | 'query'>): Refusal {
  if (body) return invalid(Value.Errors(body, body.required?.length ? {} : { [firstOf(body)]: 0 }))
  if (query) return invalid(Value.Errors(query, { [`${firstOf(query)}s`]: '' }))
  return does === 'read' || does === 'ask' ? givenTwice('x') : badKey()
}

const firstOf = ({ properties }: TSchema): string => Object.keys(properties)[0]!
