import type { TObject, TSchema } from '@sinclair/typebox'
import { requireRole, roleNeeded, type Scope } from '../identity/rights.ts'
import { type FindRole, requireVisible, type VisibleProject } from '../reads/lookups.ts'
import { notFound, type HttpError } from '../responses/errors.ts'
import type { View } from '../model/view.ts'
import type { RouteRequest } from './command.ts'

export type ReadRequest = RouteRequest<'caller' | 'permit'>

export interface EventStream {
  schema: TSchema
  example: string
}

export interface Download {
  description: string
  content: Record<string, { schema: TSchema; example?: string }>
  /** The names of the response headers: see src/openapi/components.ts. */
  headers: readonly string[]
}

/** A read as data: its parameters, its view, and the function that answers. */
export interface Query {
  about?: string
  /** The scope that an API token needs. Default: `read`. */
  scope?: Scope
  input?: TObject
  /** The body of a read by POST. Such a read has no ETag. */
  body?: TObject
  view: View<never>
  /** The operation's id and tag in the OpenAPI document. Needed if another read has the same view. */
  operation?: { id: string; tag: string }
  /** `signedIn`: only sign-in tokens. Default: every token with the scope. */
  callers?: 'signedIn'
  reply?: { description: string; schema?: TSchema }
  examples?: Record<string, { value: unknown }>
  isList?: boolean
  eventStream?: EventStream
  isStreamOnly?: boolean
  /** The media types of a file that the query returns instead of JSON. */
  download?: Download
  errors?: HttpError[]
  read(request: ReadRequest): Promise<Response>
}

interface AdminQuery extends Omit<Query, 'read'> {
  read(request: ReadRequest, project: VisibleProject): Response | Promise<Response>
}

/** Returns a query that requires the role ADMIN in the project with the path's `id`. Other callers get 404 or 403. */
export const adminQuery = (findRole: FindRole, { read, ...query }: AdminQuery): Query => ({
  ...query,
  about: `${query.about} Requires the role ADMIN.`,
  errors: [roleNeeded('ADMIN'), ...(query.errors ?? []), notFound('Project')],
  async read(request) {
    const project = await requireVisible(findRole, request.caller, request.params.id ?? '')
    requireRole(project.role, 'ADMIN', 'Project')
    return read(request, project)
  },
})
