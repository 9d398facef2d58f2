import { isDeepStrictEqual } from 'node:util'
import { type HttpError, errorBody, type ErrorStatus, reasons } from '../responses/errors.ts'
import { nameOf, ErrorSchema } from '../schema/response.ts'
import { headers, type HeaderName, headersOf, headerRefs } from './headers.ts'
import { type Parameter, pathParameter, sharedParameters } from './parameters.ts'

export interface OpenApiDocument {
  components?: object
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>
}

/** Completes the document of the plugin, which names only the parameters of a path and has no components. */
export function completeDocument(document: OpenApiDocument, commonErrors: HttpError[][]): object {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], ...operation }]) => {
      const all = parameters.map((one) => (one.in === 'path' ? pathParameter(path, one.name) : one))
      return { path, method, operation, all }
    }),
  )
  const { named: parameters, refer } = sharedParameters(operations.flatMap(({ all }) => all))
  const paths: Record<string, Record<string, object>> = {}
  for (const { path, method, operation, all } of operations)
    paths[path] = { ...paths[path], [method]: { ...operation, parameters: all.map(refer) } }
  const responses = commonResponses(commonErrors)
  const components = { ...document.components, responses, headers, parameters }
  const { schemas, document: referring } = componentsOf({ ...document, paths, components })
  return { ...referring, components: { ...referring.components, schemas } }
}

/** Replaces each named schema of a document with a reference. */
function componentsOf<T extends { components?: object }>(document: T) {
  const schemas = new Map<string, object>()

  function refer(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(refer)
    if (typeof value !== 'object' || value === null) return value
    const part = shortened(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, refer(one)])))
    const name = nameOf(value)
    if (name === undefined) return part
    const existing = schemas.get(name) ?? part
    if (!isDeepStrictEqual(existing, part)) throw new Error(`The document has two schemas called ${name}`)
    schemas.set(name, existing)
    return { $ref: `#/components/schemas/${name}` }
  }

  const referring = refer(document) as T
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1))
  return { document: referring, schemas: Object.fromEntries(sorted) }
}

interface Schema {
  type?: unknown
  anyOf?: Schema[]
}

/** Writes `string | null` as one schema with two types, because generators handle that better than `anyOf`. */
function shortened<T extends object>(schema: T): T {
  const { anyOf, ...rest } = schema as Schema
  const [first, second, ...others] = anyOf ?? []
  if (typeof first?.type !== 'string' || second?.type !== 'null' || others.length > 0) return schema
  return { ...first, ...rest, type: [first.type, 'null'] } as object as T
}

const responseName = (status: ErrorStatus): string => reasons[status].replaceAll(' ', '')
export const commonResponse = (status: ErrorStatus) => ({
  $ref: `#/components/responses/${responseName(status)}`,
})

export const notModified = {
  description: 'Not Modified: the client already has this version',
  headers: headerRefs(headersOf.notModified),
}

const commonResponses = (general: HttpError[][]) => ({
  NotModified: notModified,
  ...Object.fromEntries(general.map((errors) => [responseName(errors[0]!.status), responseOf(errors)])),
})

export const errorResponses = (errors: HttpError[]) =>
  Object.fromEntries(
    [...Map.groupBy(errors, ({ status }) => status)].map(([status, group]) => [status, responseOf(group)]),
  )

/** Documents all errors with one status as one response. The first is the example; the description lists the others. */
function responseOf(errors: HttpError[]) {
  const [first = errors[0]!, ...others] = errors
  const also = others.length > 0 ? `. Also: ${others.map((one) => one.message).join('; ')}` : ''
  const names = Object.keys(headers) as HeaderName[]
  const ownHeaders = names.filter((name) => errors.some((one) => name.toLowerCase() in one.headers))
  return {
    description: reasons[first.status] + also,
    headers: headerRefs([...headersOf.error, ...ownHeaders]),
    content: { 'application/json': { schema: ErrorSchema, example: errorBody(first) } },
  }
}
