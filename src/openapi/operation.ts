import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Scope, scopeNeeded, signInNeeded } from '../identity/rights.ts'
import { invalid } from '../schema/validation.ts'
import type { Streamed } from '../commands/query.ts'
import { badKey, type ErrorStatus, givenTwice, type Refusal } from '../wire/refusals.ts'
import { requireNone } from '../wire/request-url.ts'
import { answerExample } from './example.ts'
import { alsoByAccept, headersOf, locationAt, neverKept, referredTo } from './headers.ts'
import { generalAnswer, notModified, refusalAnswers } from './refusals.ts'

interface Operation {
  /** A verb and a noun: clients call it by this name. */
  id: string
  tag: string
  summary: string
  description?: string
  /** A read has an ETag, and answers 304; one that asks has none. */
  does: 'read' | 'ask' | 'add' | 'change'
  body?: TSchema
  query?: TSchema
  answers: Answer
  refuses?: Refusal[]
  /** Needs no token. */
  open?: boolean
  /** Of API tokens; without one it takes a sign-in token. */
  scope?: Scope
}

interface Answer {
  status?: 200 | 201 | 202 | 204
  description: string
  schema?: TSchema
  example?: object
  paged?: boolean
  /** Of writes: reads always have an ETag. */
  tagged?: boolean
  /** Of writes: reads inside a project always have its version. */
  versioned?: boolean
  secret?: boolean
  /** The path below /api/v1 of what was created. */
  madeAt?: string
  /** Server-sent events beside the rest, or instead of it. */
  streams?: Streamed
  onlyStreams?: boolean
}

/**
 * What Elysia and the document know of a route. A parameter that its query does not name is rejected. Answers are not
 * checked at run time: views are typed, and tests compare answers with these schemas.
 */
export function operation({ id, tag, summary, description, answers, open, scope, ...asked }: Operation) {
  const { does, body, query, refuses = [] } = asked
  const isWrite = does === 'add' || does === 'change'
  const own = open ? refuses : withTokens(refuses, scope)
  const told = isWrite || body ? [wrongly(asked), ...own] : [...own, wrongly(asked)]
  const general: ErrorStatus[] = [
    ...([414, 429, 500, 503] as const),
    ...(open ? [] : ([401] as const)),
    ...(body ? ([408, 413, 415] as const) : []),
    ...(isWrite ? ([422] as const) : []),
    ...(does === 'change' ? ([412] as const) : []),
  ]
  return {
    ...(body && { jsonBody: kindOf(body), body }),
    ...(!body && { parse: 'none' as const }),
    ...(query && { query }),
    ...(!query && { transform: requireNone }),
    detail: {
      operationId: id,
      tags: [tag],
      summary,
      description: [description, open ? '' : tokenFor(scope)].filter(Boolean).join(' '),
      security: open ? [] : (scope ? ['bearer', 'apiToken'] : ['bearer']).map((name) => ({ [name]: [] })),
      ...(scope && { 'x-scope': scope }),
      responses: {
        [answers.status ?? 200]: success(answers, does),
        ...(does === 'read' && { 304: answers.streams ? notModifiedStream : notModifiedPage }),
        ...Object.fromEntries(general.map((status) => [status, generalAnswer(status)])),
        ...refusalAnswers(told),
      },
    },
  }
}

const kindOf = (body: TSchema): 'optional' | 'required' => (body.default ? 'optional' : 'required')

const tokenFor = (scope?: Scope): string =>
  scope ? `An API token needs the scope ${scope}.` : 'Takes a sign-in token.'

/** The errors of API tokens, in the order in which they are checked. Every token may read. */
const withTokens = (refuses: Refusal[], scope?: Scope): Refusal[] => [
  ...(scope ? [] : [signInNeeded()]),
  ...refuses,
  ...(scope && scope !== 'read' ? [scopeNeeded(scope)] : []),
]

const notModifiedPage = { $ref: '#/components/responses/NotModified' }
const notModifiedStream = { ...notModified, headers: { ...notModified.headers, Vary: alsoByAccept } }

function success(answer: Answer, does: Operation['does']) {
  const { description, paged, tagged, versioned, secret, madeAt, streams, onlyStreams } = answer
  const { schema, example } = answer
  const kind = does === 'add' || does === 'change' ? 'write' : does === 'read' && paged ? 'page' : does
  const asJson = schema && !onlyStreams && { schema, example: example ?? answerExample(schema) }
  return {
    description,
    headers: {
      ...referredTo(headersOf[kind]),
      ...(tagged && referredTo(['ETag'])),
      ...(versioned && referredTo(['Docket-Version'])),
      ...(secret && { 'Cache-Control': neverKept }),
      ...(streams && { ...referredTo(['X-Accel-Buffering']), Vary: alsoByAccept }),
      ...(madeAt && { Location: locationAt(madeAt) }),
    },
    ...((asJson || streams) && {
      content: {
        ...(asJson && { 'application/json': asJson }),
        ...(streams && { 'text/event-stream': streams }),
      },
    }),
  }
}

/** The error of a request that does not fit: in the words of the check itself. */
function wrongly({ does, body, query }: Pick<Operation, 'does' | 'body' | 'query'>): Refusal {
  if (body) return invalid(Value.Errors(body, body.required?.length ? {} : { [firstOf(body)]: 0 }))
  if (query) return invalid(Value.Errors(query, { [`${firstOf(query)}s`]: '' }))
  return does === 'read' || does === 'ask' ? givenTwice('x') : badKey()
}

const firstOf = ({ properties }: TSchema): string => Object.keys(properties)[0]!
