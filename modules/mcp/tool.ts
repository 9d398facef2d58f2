import {
  OptionalKind,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'
import { errorDetailsOf } from '../../src/routes/errors.ts'
import { isIdInAnyCase } from '../../src/id-format.ts'
import { type ErrorStatus, HttpError, notFound } from '../../src/responses/errors.ts'
import { Input, isOwnIdSchema } from '../../src/schema/input.ts'
import { batchProject } from '../commands.ts'
import { EventTypes as AnyEventTypes } from '../events/schema.ts'

export type Handle = (request: Request) => Promise<Response>

export interface ApiResponse<T = unknown> {
  headers: Headers
  /** Undefined if the response has no body. */
  body: T
}

interface Post {
  body?: object
  key?: string
  headers?: Record<string, string>
}

/** One call of a tool, which sends requests to the API. A response with an error is thrown as an HttpError. */
export class Call {
  /** @param headers of the client's request @param signal aborts when the client has disconnected */
  constructor(
    readonly userId: string,
    private readonly handle: Handle,
    private readonly headers: Headers,
    private readonly signal: AbortSignal,
  ) {}

  get = <T>(path: string) => this.send<T>('GET', path, {})
  post = <T>(path: string, options: Post) => this.send<T>('POST', path, options)

  private async send<T>(method: string, path: string, { body, key, ...sent }: Post) {
    const { signal } = this
    signal.throwIfAborted()
    const headers = new Headers(sent.headers)
    for (const name of ['authorization', 'traceparent']) {
      const value = this.headers.get(name)
      if (value !== null) headers.set(name, value)
    }
    const text = body === undefined ? null : JSON.stringify(body)
    if (text !== null) {
      headers.set('content-type', 'application/json')
      headers.set('content-length', String(Buffer.byteLength(text)))
    }
    // Without quotes, the header would lose spaces at the ends of the key.
    if (key !== undefined) headers.set('idempotency-key', `"${key.replace(/["\\]/g, '\\$&')}"`)
    const request = new Request(`http://docket/api/v1${path}`, { method, body: text, signal, headers })
    const response = await this.handle(request)
    const answer = await response.text()
    const result = { headers: response.headers, body: answer === '' ? undefined : JSON.parse(answer) }
    if (response.status < 400) return result as ApiResponse<T>
    const { status, headers: given } = response
    const details = errorDetailsOf(request)
    throw new HttpError(status as ErrorStatus, result.body.message, Object.fromEntries(given), details)
  }

  /** Yields the pages of a list, each with the cursor at which it begins. */
  async *pages<Row>(path: string, limit: number, cursor?: string) {
    do {
      const page = await this.get<Row[]>(withQuery(path, { limit, cursor }))
      const next = cursorOf(page)
      yield { ...page, cursor, next }
      cursor = next
    } while (cursor !== undefined)
  }
}

/** Returns `path`, which may have a query, with the parameters that have a value and are not false. */
export function withQuery(path: string, parameters: object, more: string[][] = []): string {
  const all = [...Object.entries(parameters), ...more]
  const given = all.filter(([, value]) => value !== undefined && value !== false)
  const query = new URLSearchParams(given.map(([name = '', value]) => [name, String(value)])).toString()
  return query ? `${path}${path.includes('?') ? '&' : '?'}${query}` : path
}

/** Returns the cursor of the next page, or the seq of a page of events; undefined on the last page. */
export const cursorOf = ({ headers }: ApiResponse): string | undefined =>
  /[?&](?:cursor|after)=([^&>]*)[^>]*>; rel="next"/.exec(headers.get('link') ?? '')?.[1]

/** A tool of the MCP endpoint. It sends requests to the API, whose rights, limits and checks apply to the tool. */
export interface Tool {
  name: string
  description: string
  /** A token with the scope `read` cannot list or call a tool with the scope `write`. */
  scope: 'read' | 'write'
  hints?: { destructiveHint: boolean; idempotentHint: boolean }
  /** Rejects unknown fields. Agents and validation errors show each `description`. */
  inputSchema: TObject
  /** Returns the answer. @throws HttpError */
  run(args: never, call: Call): Promise<object>
}

interface Definition<Fields extends TProperties> extends Omit<Tool, 'inputSchema' | 'run'> {
  input: Fields
  /** @param args valid, and `project` and the names of users and labels are replaced by ids */
  run(args: Static<TObject<Fields>>, call: Call): Promise<object>
}

export const tool = <Fields extends TProperties>({ input, ...definition }: Definition<Fields>): Tool => ({
  ...definition,
  inputSchema: Input(input) as TObject,
})

export const optional = Type.Optional

export const TaskId = (description = 'The id of a task') =>
  Type.String({ minLength: 1, maxLength: 100, description })

/** In a path or a header, another text than an id could have another meaning. @throws HttpError 404 */
export function taskPath(id: string): string {
  if (isIdInAnyCase(id)) return `/tasks/${id}`
  throw notFound('Task')
}

export const ProjectName = Type.String({ minLength: 1, description: 'The id or name of a project' })

export const UserName = (alternatives = 'id or me') =>
  optional(Type.String({ maxLength: 300, description: `A name, email, ${alternatives}` }))

export const LabelNames = (which: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      ...{ minItems: 1, maxItems: 50 },
      description: `A list of names or ids: tasks with ${which} of these labels`,
    }),
  )

/** An optional whole number. */
export const Count = (minimum: number, maximum: number, description: string) =>
  optional(Type.Integer({ minimum, maximum, description: `A whole number${description}` }))
export const Range = (minimum: number, maximum: number, about: string) =>
  Count(minimum, maximum, ` from ${minimum} to ${maximum}: ${about}`)

/** A text that the header Idempotency-Key may contain. */
const Key = (about: string) =>
  Type.String({ pattern: '^[ -~]{1,255}$', description: `A text of 1 to 255 ASCII characters: ${about}` })
export const ChangeKey = Key(
  'new for each change. After a lost answer or an error, call again with the same key: the change is done once',
)
export const RepeatKey = optional(Key('new for each call. A repeat with the same key gets the same answer'))

export const EventTypes = optional(
  Type.Unsafe<string>({
    ...AnyEventTypes(),
    description: 'A text of event types, such as task.created,task.deleted',
  }),
)

export const Flag = (about: string) => optional(Type.Boolean({ description: `true or false: ${about}` }))
export const DryRun = Flag('check only')

/** Fields of all operations, which the list of an operation's fields omits. */
const common = ['op', 'as', 'was', 'ifMatch', 'projectId']
const schemas: TObject[] = batchProject.input.properties.operations!.items.oneOf

/** Returns one line for each operation: its name and its fields. A field has its type only in the first line that has it. */
export function operationsText(): string {
  const mentioned = new Set<string>()
  const textOf = ([name, schema]: [string, TSchema]) => {
    const type = mentioned.has(name) ? '' : typeOf(schema)
    mentioned.add(name)
    return `${name}${OptionalKind in schema ? '' : '*'}${type}`
  }
  const lineOf = ({ properties }: TObject) => {
    const op: string = properties.op!.enum[0]
    const omitted = op === 'project.update' ? [...common, 'id'] : common
    const fields = Object.entries(properties).filter(
      ([name, schema]) => !omitted.includes(name) && !schema.readOnly && !isOwnIdSchema(schema),
    )
    return [op, ...fields.map(textOf)].join(' ')
  }
  return schemas.map(lineOf).join('\n')
}

function typeOf({ type, anyOf = [], minimum, maximum, format, ...schema }: TSchema): string {
  const [inner] = anyOf.filter((one: TSchema) => one.type !== 'null')
  if (inner) return typeOf(inner)
  if (schema.enum) return `=${schema.enum.join('|')}`
  if (type === 'integer') return `=${minimum}..${maximum}`
  if (type === 'boolean') return '=true|false'
  if (format === 'date-time') return '=date'
  return type === 'array' ? '[]' : type === 'object' ? '{}' : ''
}
