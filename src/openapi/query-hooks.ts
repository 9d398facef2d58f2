import { Type } from '@sinclair/typebox'
import type { Query } from '../commands/query.ts'
import { badCursor, badLimit } from '../reads/pages.ts'
import { givenTwice } from '../wire/refusals.ts'
import { operation } from './operation.ts'

/** What Elysia and the document know of a query. */
export function queryHooks(query: Query, summary: string) {
  const { about, body, callers, input, isList, refuses = [], scope = 'read', streams, onlyStreams } = query
  const { name, schema } = query.shows
  const does = body || onlyStreams ? 'ask' : 'read'
  const { limit, cursor } = input?.properties ?? {}
  const ofPages = [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])]
  const ofInput = input ? [givenTwice('x')] : []
  const one = { schema, description: does === 'ask' ? 'As it is now' : 'As it is now, or was as of then' }
  const answers = isList
    ? { schema: Type.Array(schema), description: 'A page', paged: true }
    : { ...one, ...query.answers }
  return operation({
    ...(query.called ?? { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }),
    ...{ summary, does, body, query: input, description: about },
    scope: callers ? undefined : scope,
    answers: { ...answers, streams, onlyStreams },
    refuses: [...(isList ? ofPages : ofInput), ...refuses],
  })
}
