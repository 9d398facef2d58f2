import { Type } from '@sinclair/typebox'
import { badCursor, badLimit } from '../reads/pages.ts'
import type { Query } from '../commands/query.ts'
import { givenTwice } from '../wire/refusals.ts'
import { operation } from './operation.ts'

/** What Elysia and the document know of a query: its parameters, and all that is said of it. */
export function queryHooks(query: Query, summary: string) {
  const { about, input, shows, isList, refuses = [], called, scope = 'read' } = query
  const { name, schema } = shows
  const own = { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }
  const { limit, cursor } = input?.properties ?? {}
  return {
    ...(input && { query: input }),
    ...operation({
      ...(called ?? own),
      summary,
      scope,
      description: about,
      does: 'read',
      query: input,
      answers: isList
        ? { schema: Type.Array(schema), description: 'A page', paged: true }
        : { schema, description: 'As it is now, or was as of then' },
      refuses: [
        ...(isList ? [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])] : [givenTwice('x')]),
        ...refuses,
      ],
    }),
  }
}
