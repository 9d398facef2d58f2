import type { TObject, TSchema } from '@sinclair/typebox'
import type { Turn } from '../admission/scheduler.ts'
import { type Caller, requireRole, roleNeeded, type Scope } from '../identity/rights.ts'
import { type FindRole, requireSeen, type Seen } from '../reads/lookups.ts'
import { notFound, type HttpError } from '../responses/errors.ts'
import type { View } from '../model/view.ts'

export interface Reading {
  request: Request
  caller: Caller
  params: Record<string, string>
  query: Record<string, string | undefined>
  body?: unknown
  /** Ended by a read that begins to wait for events. */
  turn: Turn
}

/** Server-sent events that a read answers with: all of them as one text, and some. */
export interface Streamed {
  schema: TSchema
  example: string
}

/** A read as data: what may be asked, what it shows, and how it is answered. */
export interface Query {
  about?: string
  /** The scope that an API token needs for it: read, unless told. */
  scope?: Scope
  input?: TObject
  /** What a read that is a POST takes: it has no ETag then. */
  body?: TObject
  view: View<never>
  /** Its name and place in the document, where another read shows the same. */
  called?: { id: string; tag: string }
  /** Without it, every token with the scope. */
  callers?: 'signedIn'
  /** The document's words for the answer, unless it is one of a kind or a page. */
  answers?: { description: string; schema?: TSchema }
  /** Named examples of the answer, in place of one that the schema gives. */
  examples?: Record<string, { value: unknown }>
  /** Pages of it, and not one. */
  isList?: boolean
  /** To who asks for it, or to all. */
  streams?: Streamed
  onlyStreams?: boolean
  /** What it refuses in words of its own, for the document. */
  errors?: HttpError[]
  read(asked: Reading): Promise<Response>
}

interface AdminQuery extends Omit<Query, 'read'> {
  read(asked: Reading, seen: Seen): Response | Promise<Response>
}

/** The query of the project that the path names by `id`, for its admins. Other callers get 404 or 403. */
export const adminQuery = (findRole: FindRole, { read, ...query }: AdminQuery): Query => ({
  ...query,
  about: `${query.about} Takes the role ADMIN.`,
  errors: [roleNeeded('ADMIN'), ...(query.errors ?? []), notFound('Project')],
  async read(asked) {
    const seen = await requireSeen(findRole, asked.caller, asked.params.id ?? '')
    requireRole(seen.role, 'ADMIN', 'Project')
    return read(asked, seen)
  },
})
