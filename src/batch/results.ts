import { type TSchema, Type } from '@sinclair/typebox'
import type { Command } from '../commands/command.ts'
import { type View, view } from '../model/view.ts'
import type { Person } from '../reads/people.ts'
import { badRequest } from '../responses/errors.ts'
import { etagOf } from '../responses/reply.ts'
import { Id, named } from '../schema/response.ts'

/** Full resources may be far larger than the request, but a reply must fit in one RPC frame. */
const maxFullBytes = 500_000

const Result = named(
  'BatchResult',
  Type.Object({
    id: Id('The id of the resource'),
    etag: Type.Union([Type.String(), Type.Null()], {
      description: 'The new ETag of the resource; null if it was deleted',
      examples: ['"019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b"'],
    }),
    number: Type.Optional(Type.Integer({ minimum: 1, description: 'The number of a task', examples: [42] })),
  }),
)

interface BatchAnswer {
  version: number
  results: object[]
  batch?: number
}

export const batchViewOf = (views: TSchema[]): View<BatchAnswer> =>
  view<BatchAnswer>({
    name: 'Batch',
    schema: Type.Object({
      version: Type.Integer({
        minimum: 0,
        description: "The project's version after the batch",
        examples: [7],
      }),
      results: Type.Array(Type.Union([Result, ...views]), {
        description: 'One result for each operation, in order',
      }),
      batch: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'The `batch` of the events, which an undo takes. Missing if nothing changed',
          examples: [7],
        }),
      ),
    }),
    of: (answer) => answer,
    hasNoEtag: true,
  })

interface Row {
  id: string
  eventId: string
  number?: number
}

export function resultOf(
  { view: shows }: Command,
  id: string,
  answer: unknown,
  person?: Person,
  isFull = false,
) {
  if (!shows) return { id, etag: null }
  if (isFull) return shows.of(answer, person)
  if (shows.hasNoEtag) return { id, etag: null }
  const { number, ...row } = answer as Row
  return {
    id: row.id,
    etag: etagOf(row, shows.etagSuffix?.(answer, person)),
    ...(number !== undefined && { number }),
  }
}

export const replyTooLarge = () =>
  badRequest(`return=full returns at most ${maxFullBytes} bytes; send the batch without return=full`)

export function requireSmallReply(results: object[]): void {
  if (Buffer.byteLength(JSON.stringify(results)) > maxFullBytes) throw replyTooLarge()
}
