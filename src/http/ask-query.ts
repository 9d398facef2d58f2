import { type TObject, Type } from '@sinclair/typebox'
import type { View } from '../commands/view.ts'
import type { Caller } from '../identity/caller.ts'
import { operation } from '../schema/operation.ts'

/** What a read knows of its request. */
export interface Reading {
  request: Request
  caller: Caller
  params: Record<string, string>
  query: Record<string, string | undefined>
}

/** A read as data: what may be asked, what it shows, and how it is answered. */
export interface Query {
  about?: string
  /** The parameters in the URL. */
  input?: TObject
  shows: View<never>
  /** Pages of it, and not one. */
  isList?: boolean
  read(asked: Reading): Promise<Response>
}

/** Gives a route all it needs for a query: see openRunCommand. */
export function askQuery(path: string, { about, input, shows, isList, read }: Query, summary: string) {
  const handle = ({ request, caller, params, query }: Reading): Promise<Response> =>
    read({ request, caller, params, query })
  const hooks = {
    ...(input && { query: input }),
    ...operation({
      tag: `${shows.name}s`,
      summary,
      description: about,
      answers: {
        status: 200,
        schema: isList ? Type.Array(shows.schema) : shows.schema,
        description: isList ? 'A page' : 'As it is now',
      },
      refuses: [400, 404],
      conditional: true,
      paged: isList,
    }),
  }
  return [path, handle, hooks] as const
}
