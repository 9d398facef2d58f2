import Ajv, { type ValidateFunction } from 'ajv/dist/2020'
import type { Answer } from './client.ts'

type Bounds = 'minItems' | 'maxItems' | 'minLength' | 'maxLength' | 'minimum' | 'maximum' | 'maxProperties'

export interface Schema extends Partial<Record<Bounds, number>> {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  /** The schema of fields that `properties` does not list. */
  additionalProperties?: boolean | Schema
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  format?: string
  default?: unknown
  examples?: unknown[]
  readOnly?: boolean
}

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Schema
}

interface Content {
  content?: Record<string, { schema: Schema; example?: unknown }>
}

export interface Operation {
  summary: string
  tags: string[]
  security: Record<string, string[]>[]
  /** The scope that an API token needs; undefined if only sign-in tokens may call the operation. */
  'x-scope'?: string
  parameters: Parameter[]
  requestBody?: Content & { required?: boolean }
  operationId: string
  description: string
  responses: Record<string, Content & { description: string; headers?: Record<string, unknown> }>
}

export interface OpenApi {
  openapi: string
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> } & Record<
    'headers' | 'parameters' | 'responses',
    Record<string, object>
  >
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const checks = new WeakMap<OpenApi, { ajv: Ajv; compiled: Map<string, ValidateFunction> }>()

function checkOf(api: OpenApi, schema: Schema): ValidateFunction {
  let own = checks.get(api)
  if (!own) {
    const ajv = new Ajv({ strict: false, allErrors: true, logger: false, formats: { 'date-time': instant } })
    own = { ajv: ajv.addSchema(parseStrict(JSON.stringify(api)), 'api'), compiled: new Map() }
    checks.set(api, own)
  }
  const text = JSON.stringify(schema).replaceAll('"#/', '"api#/')
  const check = own.compiled.get(text) ?? own.ajv.compile(parseStrict(text))
  own.compiled.set(text, check)
  return check
}

/** Parses schemas and forbids fields that they do not list. */
const parseStrict = (text: string): object =>
  JSON.parse(text, (_, part) => {
    const isOpen = part?.type === 'object' && typeof part.additionalProperties !== 'object'
    return isOpen ? { ...part, additionalProperties: false } : part
  })

/** Describes how a value violates its schema; unlisted fields are errors too. */
export function schemaErrors(api: OpenApi, schema: Schema, value: unknown): string[] {
  const check = checkOf(api, schema)
  if (check(value)) return []
  return check.errors!.map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

export const resolveSchema = (api: OpenApi, ref: string): Schema => dereference(api, { $ref: ref }) as Schema

function dereference(api: OpenApi, part: object): object {
  if (!('$ref' in part)) return part
  const [kind, name] = String(part.$ref).replace('#/components/', '').split('/') as ['schemas', string]
  const found = api.components[kind]?.[name]
  if (!found) throw new Error(`the document has no ${String(part.$ref)}`)
  return found
}

const operationsByApi = new WeakMap<OpenApi, Map<string, Operation>>()

/** Returns every operation by its name, for example `get /api/v1/tasks`, with all references resolved. */
export function operationsOf(api: OpenApi): Map<string, Operation> {
  const found = operationsByApi.get(api)
  if (found) return found
  const paths = Object.entries(api.paths).filter(([path]) => path.startsWith('/api/v1/'))
  const named = paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => [`${method} ${path}`, wholeOperation(api, one)] as const),
  )
  const operations = new Map(named)
  operationsByApi.set(api, operations)
  return operations
}

function wholeOperation(api: OpenApi, operation: Operation): Operation {
  const all = <T extends object>(parts: Record<string, T> = {}) =>
    Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, dereference(api, part) as T]))
  const responses = all(operation.responses)
  for (const [status, one] of Object.entries(responses))
    responses[status] = { ...one, headers: all(one.headers as Record<string, object>) }
  const parameters = operation.parameters.map((one) => dereference(api, one) as Parameter)
  return { ...operation, parameters, responses }
}

export function* callsOf(api: OpenApi) {
  for (const [name, operation] of operationsOf(api)) {
    const [method = '', path = ''] = name.replace('/api/v1', '').split(' ')
    const { schema, example } = operation.requestBody?.content?.['application/json'] ?? {}
    const fields = schema ? (resolveSchema(api, schema.$ref!).properties ?? {}) : {}
    const body = example as object | undefined
    yield { name, operation, method: method.toUpperCase(), path, fields, schema, body }
  }
}

export function operationOf(api: OpenApi, method: string, path: string): [string, Operation] {
  const requested = `${method.toLowerCase()} /api/v1${path.replace(/[?#].*/, '').replace(/\/$/, '')}`
  const operations = operationsOf(api)
  const exact = operations.get(requested)
  if (exact) return [requested, exact]
  const isOf = (name: string) => new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]*')}$`).test(requested)
  const found = [...operations].find(([name]) => isOf(name))
  if (!found) throw new Error(`the document has no ${requested}`)
  return found
}

/** Headers that need no documentation: OpenAPI ignores Content-Type, and the other headers concern the connection. */
const httpHeaders = ['content-type', 'content-length', 'date', 'transfer-encoding', 'keep-alive']

function undocumentedHeaders(documented: object, sent: Headers): string[] {
  const expected = [...httpHeaders, ...Object.keys(documented).map((name) => name.toLowerCase())]
  const others = [...sent.keys()].filter((name) => !expected.includes(name))
  return others.map((name) => `${name} is not documented`)
}

/** Describes how a response differs from the documented status, headers and body of its operation. */
export function undocumentedParts(api: OpenApi, operation: Operation, answer: Answer): string[] {
  const { status, body, text, headers } = answer
  const response = operation.responses[status]
  if (!response) return [`status ${status} is not documented`]
  const found = undocumentedHeaders(response.headers ?? {}, headers)
  const [type = ''] = headers.get('content-type')?.split(';') ?? []
  if (type !== 'application/json' && type in (response.content ?? {})) return found
  const schema = response.content?.['application/json']?.schema
  if (!schema) return text === '' ? found : [...found, `${status} is documented without a body`]
  return [...found, ...schemaErrors(api, schema, body)]
}
