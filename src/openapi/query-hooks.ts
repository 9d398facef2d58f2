import { Type } from '@sinclair/typebox'
import type { Query } from '../commands/query.ts'
import { badCursor, badLimit } from '../reads/pages.ts'
import { duplicateParameter } from '../responses/errors.ts'
import { answerExample } from './example.ts'
import { streamVaryHeader, headersOf, headerRefs } from './headers.ts'
import { sampleValidationError, operation } from './operation.ts'
import { notModified } from './error-responses.ts'

/** What Elysia and the document know of a query. */
export function queryHooks(query: Query, summary: string) {
  const { about, body, callers, input, isList, errors = [], scope = 'read', streams } = query
  const { name } = query.view
  const isAsk = body !== undefined || query.onlyStreams
  const { limit, cursor } = input?.properties ?? {}
  const ofPages = [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])]
  const own = [...(isList ? ofPages : input ? [duplicateParameter('x')] : []), ...errors]
  const byAccept = streams && { ...notModified, headers: { ...notModified.headers, Vary: streamVaryHeader } }
  return operation({
    ...(query.called ?? { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }),
    ...{ summary, body, query: input, description: about },
    scope: callers ? undefined : scope,
    responses: {
      200: answerOf(query, isAsk ? 'post' : isList ? 'page' : 'read'),
      ...(!isAsk && { 304: byAccept ?? { $ref: '#/components/responses/NotModified' } }),
    },
    general: [],
    errors: body
      ? [sampleValidationError(body)!, ...own]
      : [...own, sampleValidationError(body, input) ?? duplicateParameter('x')],
  })
}

function answerOf(query: Query, kind: 'post' | 'page' | 'read') {
  const { streams, onlyStreams, isList, answers, examples } = query
  const description = kind === 'post' ? 'As it is now' : 'As it is now, or was as of then'
  const one = isList ? Type.Array(query.view.schema) : query.view.schema
  const schema = answers?.schema ?? one
  return {
    description: isList ? 'A page' : (answers?.description ?? description),
    headers: {
      ...headerRefs(headersOf[kind]),
      ...(streams && { ...headerRefs(['X-Accel-Buffering']), Vary: streamVaryHeader }),
    },
    content: {
      ...(!onlyStreams && {
        'application/json': { schema, ...(examples ? { examples } : { example: answerExample(schema) }) },
      }),
      ...(streams && { 'text/event-stream': streams }),
    },
  }
}
