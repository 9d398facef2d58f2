import { Type } from '@sinclair/typebox'
import type { Download, Query } from '../commands/query.ts'
import { badCursor, badLimit } from '../reads/pages.ts'
import { duplicateParameter } from '../responses/errors.ts'
import { responseExample } from './example.ts'
import { type HeaderName, noStoreHeader, streamVaryHeader, headersOf, headerRefs } from './headers.ts'
import { sampleValidationError, operation } from './operation.ts'
import { notModified } from './document.ts'

export function queryHooks(query: Query, summary: string) {
  const { about, body, callers, input, isList, errors = [], scope = 'read', eventStream } = query
  const { name } = query.view
  const isPost = body !== undefined || query.isStreamOnly || query.download !== undefined
  const { limit, cursor } = input?.properties ?? {}
  const pageErrors = [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])]
  const own = [...(isList ? pageErrors : input ? [duplicateParameter('x')] : []), ...errors]
  const headers = { ...notModified.headers, Vary: streamVaryHeader }
  const unchanged = eventStream ? { ...notModified, headers } : { $ref: '#/components/responses/NotModified' }
  return operation({
    ...(query.operation ?? { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }),
    ...{ summary, body, query: input, description: about, scope: callers ? undefined : scope },
    responses: {
      200: responseOf(query, isPost ? 'post' : isList ? 'page' : 'read'),
      ...(!isPost && { 304: unchanged }),
    },
    errors: body
      ? [sampleValidationError(body)!, ...own]
      : [...own, sampleValidationError(body, input) ?? duplicateParameter('x')],
  })
}

const downloadOf = ({ description, content, headers }: Download) => ({
  description,
  headers: {
    ...headerRefs([...headersOf.download, ...(headers as HeaderName[])]),
    'Cache-Control': noStoreHeader,
  },
  content,
})

function responseOf(query: Query, kind: 'post' | 'page' | 'read') {
  const { download, eventStream, isStreamOnly, isList, isSearch, reply, examples } = query
  if (download) return downloadOf(download)
  const description = kind === 'post' ? 'The current state' : 'The current state, or the state at `asOf`'
  const one = isList ? Type.Array(query.view.schema) : query.view.schema
  const schema = reply?.schema ?? one
  return {
    description: isList ? 'One page' : (reply?.description ?? description),
    headers: {
      ...headerRefs(headersOf[kind]),
      ...(isSearch && headerRefs(['Docket-Indexed'])),
      ...(isStreamOnly && headerRefs(['Link'])),
      ...(eventStream && { ...headerRefs(['X-Accel-Buffering']), Vary: streamVaryHeader }),
    },
    content: {
      ...(!isStreamOnly && {
        'application/json': { schema, ...(examples ? { examples } : { example: responseExample(schema) }) },
      }),
      ...(eventStream && { 'text/event-stream': eventStream }),
    },
  }
}
