import { Type } from '@sinclair/typebox'
import type { Query } from '../commands/query.ts'
import { badCursor, badLimit } from '../reads/pages.ts'
import { givenTwice } from '../responses/errors.ts'
import { answerExample } from './example.ts'
import { alsoByAccept, headersOf, referredTo } from './headers.ts'
import { misfit, operation } from './operation.ts'
import { notModified } from './error-responses.ts'

/** What Elysia and the document know of a query. */
export function queryHooks(query: Query, summary: string) {
  const { about, body, callers, input, isList, errors = [], scope = 'read', streams } = query
  const { name } = query.view
  const isAsk = body !== undefined || query.onlyStreams
  const { limit, cursor } = input?.properties ?? {}
  const ofPages = [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])]
  const own = [...(isList ? ofPages : input ? [givenTwice('x')] : []), ...errors]
  const byAccept = streams && { ...notModified, headers: { ...notModified.headers, Vary: alsoByAccept } }
  return operation({
    ...(query.called ?? { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }),
    ...{ summary, body, query: input, description: about },
    scope: callers ? undefined : scope,
    responses: {
      200: answerOf(query, isAsk ? 'ask' : isList ? 'page' : 'read'),
      ...(!isAsk && { 304: byAccept ?? { $ref: '#/components/responses/NotModified' } }),
    },
    general: [],
    errors: body ? [misfit(body)!, ...own] : [...own, misfit(body, input) ?? givenTwice('x')],
  })
}

function answerOf(query: Query, kind: 'ask' | 'page' | 'read') {
  const { streams, onlyStreams, isList, answers, examples } = query
  const description = kind === 'ask' ? 'As it is now' : 'As it is now, or was as of then'
  const one = isList ? Type.Array(query.view.schema) : query.view.schema
  const schema = answers?.schema ?? one
  return {
    description: isList ? 'A page' : (answers?.description ?? description),
    headers: {
      ...referredTo(headersOf[kind]),
      ...(streams && { ...referredTo(['X-Accel-Buffering']), Vary: alsoByAccept }),
    },
    content: {
      ...(!onlyStreams && {
        'application/json': { schema, ...(examples ? { examples } : { example: answerExample(schema) }) },
      }),
      ...(streams && { 'text/event-stream': streams }),
    },
  }
}
