import type { CallOptions, Query, Transport, WriteOptions } from '../transport.ts'
import { List } from './list.ts'
import type { Arguments, BodyOf, FormOf, IdsIn, OperationName, QueryOf, ResultOf, RowOf } from './types.ts'

type Input = Record<string, unknown>
type Ids = Record<string, string>
type FileOptions = Pick<CallOptions, 'signal'>
type File = string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer>

/** The service accepts an upload for 10 minutes. */
const uploadDeadlineMs = 600_000

/**
 * Builds the methods of resources. The path parameter `{id}` of a route is the first argument of the method. Other path
 * parameters are fields of the input. The other fields are the body, or the query if the request has no body.
 */
export class Calls {
  constructor(readonly transport: Transport) {}

  /** Returns `(input, options) => …`, for writes whose route has no `{id}`. */
  write<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    return (...[input, options]: Arguments<BodyOf<Name> & IdsIn<Route>, WriteOptions>) =>
      this.#send<ResultOf<Name>>(route, {}, input as Input, options)
  }

  /** Returns `(file, input, options) => …`, for a file that is sent in a form together with the input. */
  upload<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    type Given = FormOf<Name> & IdsIn<Route>
    return async (file: File, input: Given, options: WriteOptions = {}) => {
      const { method, path, rest } = fillRoute(route, input as Input)
      const form = new FormData()
      for (const [name, value] of Object.entries(rest))
        if (value !== undefined)
          form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
      form.append('file', new Blob([file]))
      const request = { deadlineMs: uploadDeadlineMs, ...options, form }
      return (await this.transport.request<ResultOf<Name>>(method, path, request)).body
    }
  }

  /** Returns `(id, input, options) => …`. */
  writeById<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    return (id: string, ...[input, options]: Arguments<BodyOf<Name> & IdsIn<Route, 'id'>, WriteOptions>) =>
      this.#send<ResultOf<Name>>(route, { id }, input as Input, options)
  }

  /** Returns `(options) => …`, for requests without body, query and ids. */
  plain<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    return (options?: OptionsOf<Route>) => this.#send<ResultOf<Name>>(route, {}, undefined, options)
  }

  /** Returns `(id, query, options) => …` for requests without body. The options may also be fields of the query. */
  byId<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    type Given = QueryOf<Name> & IdsIn<Route, 'id'> & OptionsOf<Route>
    return (id: string, ...[given, last]: Arguments<Given, OptionsOf<Route>>) =>
      this.#call<ResultOf<Name>>(route, { id }, given as Input, last)
  }

  /** Returns `(query, options) => …`, for reads of one object whose route has no `{id}`. */
  read<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    return (...[given, last]: Arguments<QueryOf<Name> & IdsIn<Route> & CallOptions, CallOptions>) =>
      this.#call<ResultOf<Name>>(route, {}, given as Input, last)
  }

  /** Returns `(query, options) => …`, which returns the response before its body has arrived. It has no retries. */
  file<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    type Given = QueryOf<Name> & IdsIn<Route> & FileOptions
    return (...[given, last]: Arguments<Given, FileOptions>): Promise<Response> => {
      const { signal, ...query } = (given ?? {}) as Input & FileOptions
      const { path, rest } = fillRoute(route, query)
      return this.transport.stream(path, { query: rest as Query, signal, ...last })
    }
  }

  /** Returns `(filters, options) => List`. The options may also be fields of the filters. */
  list<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    return (...[filters, options]: Arguments<QueryOf<Name> & IdsIn<Route> & CallOptions, CallOptions>) =>
      this.#pages<RowOf<Name>>(route, {}, filters as Input, options)
  }

  /** Returns `(id, filters, options) => List`. */
  listById<Name extends OperationName, Route extends string>(_name: Name, route: Route) {
    type Given = QueryOf<Name> & IdsIn<Route, 'id'> & CallOptions
    return (id: string, ...[filters, options]: Arguments<Given, CallOptions>) =>
      this.#pages<RowOf<Name>>(route, { id }, filters as Input, options)
  }

  async #send<Result>(route: string, ids: Ids, input: Input | undefined, options: WriteOptions = {}) {
    const { method, path, rest } = fillRoute(route, input, ids)
    const body = input && rest
    return (await this.transport.request<Result>(method, path, { ...options, body })).body
  }

  async #call<Result>(route: string, ids: Ids, given: Input | undefined, last?: WriteOptions) {
    const { query, options } = separated(given, last)
    const { method, path, rest } = fillRoute(route, query, ids)
    return (await this.transport.request<Result>(method, path, { ...options, query: rest as Query })).body
  }

  #pages<Row>(route: string, ids: Ids, given: Input | undefined, last?: CallOptions): List<Row> {
    const parameter = route.endsWith('/events') ? 'after' : 'cursor'
    return new List(async (cursor) => {
      const { query: filters, options } = separated(given, last)
      const { method, path, rest } = fillRoute(route, filters, ids)
      const query = { ...(rest as Query), ...(cursor !== undefined && { [parameter]: cursor }) }
      const { body, headers } = await this.transport.request<Row[]>(method, path, { ...options, query })
      const version = headers.get('docket-version')
      return {
        rows: body,
        cursor: nextCursor(headers.get('link'), parameter),
        version: version === null ? undefined : Number(version),
        indexed: headers.get('docket-indexed') ?? undefined,
      }
    })
  }
}

function separated(given: Input & WriteOptions = {}, last: WriteOptions = {}) {
  const { signal, deadlineMs, idempotencyKey, ifMatch, ifClaim, ...query } = given
  return { query, options: { signal, deadlineMs, idempotencyKey, ifMatch, ifClaim, ...last } }
}

type OptionsOf<Route extends string> = Route extends `GET ${string}` ? CallOptions : WriteOptions

/** Returns a parameter of the link with rel="next" (RFC 8288). */
export function nextCursor(link: string | null, parameter: string): string | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '') ?? []
  return target === undefined
    ? undefined
    : (new URL(target, 'http://docket').searchParams.get(parameter) ?? undefined)
}

/**
 * Replaces the names in braces of a route, such as `GET /projects/{projectId}/labels`, by values of `ids` or `input`.
 * `rest` is the input without these names. @throws TypeError if an id is missing, or is not a text
 */
function fillRoute(route: string, input: Record<string, unknown> = {}, ids: Record<string, string> = {}) {
  const [method = '', template = ''] = route.split(' ')
  const rest = { ...input }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = ids[name] ?? input[name]
    delete rest[name]
    // URLs treat the segments `.` and `..` as folders.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}`)
    return encodeURIComponent(value)
  })
  return { method, path, rest }
}
