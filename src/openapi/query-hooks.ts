import { Type } from '@sinclair/typebox'
import { badCursor, badLimit } from '../reads/pages.ts'
import type { Query } from '../commands/query.ts'
import { givenTwice } from '../wire/refusals.ts'
import { operation } from './operation.ts'

/** What Elysia and the document know of a query: its parameters, and all that is said of it. */
export function queryHooks(query: Query, summary: string) {
  const { about, body, callers, input, shows, isList, refuses = [], called, scope = 'read' } = query
  const { streams, onlyStreams } = query
  const { name } = shows
  const own = { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }
  const { limit, cursor } = input?.properties ?? {}
  return {
    ...(body && { jsonBody: 'required' as const, body }),
    ...operation({
      ...(called ?? own),
      summary,
      scope: callers ? undefined : scope,
      description: about,
      does: body || onlyStreams ? 'ask' : 'read',
      query: input,
      body,
      answers: { ...answerOf(query), streams, onlyStreams },
      refuses: [
        ...(isList
          ? [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])]
          : input
            ? [givenTwice('x')]
            : []),
        ...refuses,
      ],
    }),
  }
}

const answerOf = ({ shows: { schema }, answers, isList, body, onlyStreams }: Query) => {
  if (isList) return { schema: Type.Array(schema), description: 'A page', paged: true }
  const description = body || onlyStreams ? 'As it is now' : 'As it is now, or was as of then'
  return { schema, description, ...answers }
}
