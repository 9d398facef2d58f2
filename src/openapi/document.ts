import type { TSchema } from '@sinclair/typebox'
import { isDeepStrictEqual } from 'node:util'
import { type HttpError, errorBody, type ErrorStatus, reasons } from '../responses/errors.ts'
import { nameOf, ErrorSchema } from '../schema/response.ts'
import { requestExample } from './example.ts'
import { headers, type HeaderName, headersOf, headerRefs } from './headers.ts'
import {
  type Parameter,
  parametersOf,
  requestHeadersKey,
  type Responses,
  sharedParameters,
} from './parameters.ts'

interface Operation {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: TSchema }> }
  responses: Responses
  [requestHeadersKey]?: string[]
}

export interface OpenApiDocument {
  components?: object
  paths: Record<string, Record<string, Operation>>
}

export function completeDocument(document: OpenApiDocument, commonErrors: HttpError[][]): object {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ path, method, ...operationOf(path, one) })),
  )
  const parameters = sharedParameters(operations.flatMap((one) => one.parameters))
  const paths: Record<string, Record<string, object>> = {}
  for (const { path, method, ...one } of operations) {
    const references = one.parameters.map(parameters.refer)
    paths[path] = { ...paths[path], [method]: { ...one, parameters: references } }
  }
  const responses = commonResponses(commonErrors)
  const components = { ...document.components, responses, headers, parameters: parameters.named }
  const { schemas, document: referring } = componentsOf({ ...document, paths, components })
  return { ...referring, components: { ...referring.components, schemas } }
}

function operationOf(
  path: string,
  { parameters = [], requestBody, [requestHeadersKey]: names, ...operation }: Operation,
) {
  const schema = requestBody?.content['application/json']?.schema
  return {
    ...operation,
    parameters: parametersOf(path, parameters, operation.responses, names),
    ...(requestBody && { requestBody: schema ? bodyOf(schema) : requestBody }),
  }
}

const bodyOf = (schema: TSchema) => ({
  required: schema.default === undefined,
  ...(schema.description && { description: schema.description }),
  content: { 'application/json': { schema, example: requestExample(schema) } },
})

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

export function errorResponses(errors: HttpError[]) {
  const byStatus = [...Map.groupBy(errors, ({ status }) => status)]
  return Object.fromEntries(byStatus.map(([status, group]) => [status, responseOf(group)]))
}

/** Documents all errors with one status as one response. The first is the example; the description lists the others. */
function responseOf(errors: HttpError[]) {
  const [first = errors[0]!, ...others] = errors
  const also = others.length > 0 ? `. Also: ${others.map((one) => one.message).join('; ')}` : ''
  const names = Object.keys(headers) as HeaderName[]
  const ownHeaders = names.filter((name) => errors.some((one) => name.toLowerCase() in one.headers))
  const example = errorBody(first)
  return {
    description: reasons[first.status] + also,
    headers: headerRefs([...headersOf.error, ...ownHeaders]),
    content: { 'application/json': { schema: ErrorSchema, example } },
  }
}
