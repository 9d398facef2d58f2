import type { Answer } from './client.ts'

/** The parts of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  /** What fields may hold that are not named, where any may. */
  additionalProperties?: boolean | Schema
  maxProperties?: number
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  minItems?: number
  maxItems?: number
  enum?: unknown[]
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
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
  /** What an API token needs for it; without it none is good enough. */
  'x-scope'?: string
  parameters: Parameter[]
  requestBody?: Content
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

const notes = 'description examples additionalProperties default pattern readOnly discriminator'.split(' ')
const checked = [
  '$ref',
  'type',
  'properties',
  'maxProperties',
  'required',
  'items',
  'anyOf',
  'oneOf',
  'minItems',
  'maxItems',
  'enum',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
]
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** How a value differs from its schema, read strictly: what the schema does not name must not be there. */
export function differences(api: OpenApi, schema: Schema, value: unknown, at = 'body'): string[] {
  const unknown = Object.keys(schema).filter((key) => ![...notes, ...checked].includes(key))
  if (unknown.length) return [`${at}: this check does not know ${unknown.join(', ')}`]
  if (schema.$ref) return differences(api, referred(api, schema.$ref), value, at)
  if (schema.anyOf) {
    const found = schema.anyOf.map((one) => differences(api, one, value, at))
    return found.some(({ length }) => length === 0) ? [] : found.flat()
  }
  if (schema.oneOf) {
    const found = schema.oneOf.map((one) => differences(api, one, value, at))
    const fitting = found.filter(({ length }) => length === 0).length
    return fitting === 1 ? [] : [`${at}: fits ${fitting} of the choices`, ...found.flat()]
  }
  if (schema.enum && !schema.enum.includes(value)) return [`${at}: ${String(value)} is not in the list`]
  const types = [schema.type].flat()
  if (!types.includes(typeOf(value)) && !(types.includes('number') && typeOf(value) === 'integer')) {
    return [`${at}: ${typeOf(value)} is not ${types.join(' or ')}`]
  }
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Infinity } = schema
    if (value.length < minItems || value.length > maxItems) return [`${at}: has ${value.length} items`]
    return value.flatMap((item, i) => differences(api, schema.items ?? {}, item, `${at}.${i}`))
  }
  if (typeof value === 'string') return textDifferences(schema, value, at)
  if (typeof value === 'number') return numberDifferences(schema, value, at)
  return typeof value === 'object' && value ? fieldDifferences(api, schema, value, at) : []
}

const numberDifferences = ({ minimum = -Infinity, maximum = Infinity }: Schema, value: number, at: string) =>
  value < minimum || value > maximum ? [`${at}: ${value} is out of bounds`] : []

function fieldDifferences(api: OpenApi, schema: Schema, value: object, at: string): string[] {
  const { properties = {}, required = [], additionalProperties: others, maxProperties = Infinity } = schema
  const missing = required.filter((name) => !(name in value)).map((name) => `${at}.${name}: missing`)
  if (Object.keys(value).length > maxProperties) missing.push(`${at}: has too many fields`)
  const found = Object.entries(value).flatMap(([name, field]) => {
    const one = properties[name] ?? (typeof others === 'object' ? others : undefined)
    return one ? differences(api, one, field, `${at}.${name}`) : [`${at}.${name}: not documented`]
  })
  return [...missing, ...found]
}

function textDifferences({ format, minLength = 0, maxLength = Infinity }: Schema, value: string, at: string) {
  if (format === 'date-time' && !instant.test(value)) return [`${at}: ${value} is no instant`]
  return value.length < minLength || value.length > maxLength ? [`${at}: of length ${value.length}`] : []
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

export const referred = (api: OpenApi, ref: string): Schema => follow(api, { $ref: ref }) as Schema

/** The part of the document that a reference leads to, or the part itself. */
function follow(api: OpenApi, part: object): object {
  if (!('$ref' in part)) return part
  const [kind, name] = String(part.$ref).replace('#/components/', '').split('/') as ['schemas', string]
  const found = api.components[kind]?.[name]
  if (!found) throw new Error(`the document has no ${String(part.$ref)}`)
  return found
}

const known = new WeakMap<OpenApi, Map<string, Operation>>()

/** Every operation under its name, the method and the path, with its shared parameters, answers and headers. */
export function operationsOf(api: OpenApi): Map<string, Operation> {
  const found = known.get(api)
  if (found) return found
  const named = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => [`${method} ${path}`, wholeOperation(api, one)] as const),
  )
  const operations = new Map(named)
  known.set(api, operations)
  return operations
}

function wholeOperation(api: OpenApi, operation: Operation): Operation {
  const all = <T extends object>(parts: Record<string, T> = {}) =>
    Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, follow(api, part) as T]))
  const responses = all(operation.responses)
  for (const [status, one] of Object.entries(responses)) {
    responses[status] = { ...one, headers: all(one.headers as Record<string, object>) }
  }
  const parameters = operation.parameters.map((one) => follow(api, one) as Parameter)
  return { ...operation, parameters, responses }
}

/** The operation that a request to a path below /api/v1 asks for, with its name. */
export function operationOf(api: OpenApi, method: string, path: string): [string, Operation] {
  const asked = `${method.toLowerCase()} /api/v1${path.replace(/[?#].*/, '').replace(/\/$/, '')}`
  const fits = (name: string) => new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]*')}$`).test(asked)
  const found = [...operationsOf(api)].find(([name]) => fits(name))
  if (!found) throw new Error(`the document has no ${asked}`)
  return found
}

/** What HTTP itself asks for is not documented: OpenAPI has Content-Type ignored, the others are of the connection. */
const ofHttp = ['content-type', 'content-length', 'date', 'transfer-encoding', 'keep-alive']

function undocumentedHeaders(documented: object, sent: Headers): string[] {
  const known = [...ofHttp, ...Object.keys(documented).map((name) => name.toLowerCase())]
  return [...sent.keys()].filter((name) => !known.includes(name)).map((name) => `${name} is not documented`)
}

/** How an answer differs from what the document says of its operation: its status, its headers, its body. */
export function undocumented(api: OpenApi, operation: Operation, answer: Answer): string[] {
  const { status, body, text, headers } = answer
  const response = operation.responses[status]
  if (!response) return [`status ${status} is not documented`]
  const found = undocumentedHeaders(response.headers ?? {}, headers)
  const schema = response.content?.['application/json']?.schema
  if (!schema) return text === '' ? found : [...found, `${status} is documented without a body`]
  return [...found, ...differences(api, schema, body)]
}
