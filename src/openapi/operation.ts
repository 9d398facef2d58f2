import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { bodyFields, pathFields, type WriteDefinition } from '../commands/command.ts'
import { targetNoun } from '../commands/decide.ts'
import type { Query } from '../commands/query.ts'
import {
  isAtLeast,
  roleNeeded,
  type Scope,
  scopeNeeded,
  signInNeeded,
  unboundTokenNeeded,
} from '../identity/rights.ts'
import { claimEnded } from '../model/claims.ts'
import type { Entity } from '../model/entities.ts'
import { titleOf } from '../model/model.ts'
import { invalidReference, listEditedTwice, referencesOf, tooManyReferences } from '../model/references.ts'
import { badCursor, badLimit } from '../reads/pages.ts'
import {
  duplicateParameter,
  type ErrorStatus,
  type HttpError,
  invalidIdempotencyKey,
  notFound,
} from '../responses/errors.ts'
import { Body, Input } from '../schema/input.ts'
import { capital, Message, named, nameOf, sampleId, unique } from '../schema/response.ts'
import { validationError } from '../schema/validation.ts'
import {
  commonResponse,
  errorResponses,
  type HeaderName,
  headerRefs,
  headersOf,
  locationAt,
  noStoreHeader,
  queryParameters,
  type RequestHeader,
  headerParameter,
} from './components.ts'

/** Returns the schemas of the query and the body, and the route's part of the document. */
export function commandOperation<Row>(path: string, command: WriteDefinition<never, Row>, summary: string) {
  const { about, callers, role, name, status, emptyReply } = command
  const { id, tag } = command.operation ?? { id: operationId(name), tag: `${nounOf(name)}s` }
  const pathParameters = pathFields(path, command)
  const body = bodyOf(command, pathParameters, capital(id))
  const requires = role === 'EDITOR' || role === 'ADMIN' ? `Requires the role ${role}.` : ''
  const query = command.queryFields && Input(fieldsOf(command, command.queryFields))
  const changes = command.does !== 'add' && status !== 201
  // Account commands do not run in the actor of a project.
  const isInProject = 'decide' in command && command.target.kind !== 'new'
  const detail = operation({
    ...{ id, tag, summary, body, query },
    open: callers === 'anyone',
    scope: callers ? undefined : command.scope,
    description: [about, requires].filter(Boolean).join(' '),
    responses: {
      [status]: responseOf(command, pathParameters),
      ...(emptyReply && { 204: { description: emptyReply, headers: headerRefs(headersOf.write) } }),
      ...(command.creates && { 201: responseOf({ ...command, status: 201 }, pathParameters) }),
    },
    requestHeaders: [...headerIf(changes, 'If-Match'), ...headerIf(isInProject, 'Docket-If-Claim')],
    general: changes ? [422, 412] : [422],
    errors: [
      sampleValidationError(body, query) ?? invalidIdempotencyKey(),
      ...errorsOf(command),
      ...(isInProject && !changes ? [claimEnded()] : []),
    ],
  })
  return { query, body, detail }
}

const headerIf = (isNeeded: unknown, name: RequestHeader): RequestHeader[] => (isNeeded ? [name] : [])

const done = { 200: 'The result of the write', 201: 'Created', 202: 'Accepted', 204: 'Done' }

function responseOf<Row>(command: WriteDefinition<never, Row>, pathParameters: [string, string][]) {
  const { isSecret, location, status } = command
  const view = status === 204 ? undefined : command.view
  const schema = view?.schema ?? Message
  const example = view ? responseExample(schema) : { message: command.message ?? '' }
  const input = Object.fromEntries(pathParameters.map(([, key]) => [key, sampleId]))
  return {
    description: done[status],
    headers: {
      ...headerRefs(headersOf.write),
      ...(view && !view.hasNoEtag && headerRefs(['ETag'])),
      ...(view?.hasNoEtag && !isSecret && headerRefs(['Docket-Version'])),
      ...(isSecret && { 'Cache-Control': noStoreHeader }),
      ...(location &&
        (!command.creates || status === 201) && { Location: locationAt(location(sampleId, input as never)) }),
    },
    ...(status !== 204 && { content: { 'application/json': { schema, example } } }),
  }
}

function bodyOf<Row>(command: WriteDefinition<never, Row>, pathParameters: [string, string][], name: string) {
  const { body, input, view } = command
  if (body || nameOf(input)) return body ?? input
  const keys = bodyFields(command, pathParameters)
  if (keys.length === 0) return undefined
  const fields = fieldsOf(command, keys)
  // An input has its own examples if some fields of its body cannot be sent together.
  const { examples } = input
  const own = view?.hasNoEtag ? Input(fields) : Body(fields, view?.schema ?? Input({}))
  return named(name, { ...own, ...(examples && { examples }) })
}

const fieldsOf = <Row>({ input }: WriteDefinition<never, Row>, keys: string[]) =>
  Object.fromEntries(keys.map((key) => [key, input.properties[key]!]))

function errorsOf<Row>(command: WriteDefinition<never, Row>): HttpError[] {
  const { name, input, target, destination, role, errors: own = [] } = command
  const entity = name.slice(0, name.indexOf('.')) as Entity
  const references = referencesOf(entity).flatMap((field) => [
    ...(field.name in input.properties && !field.values ? [invalidReference(field)] : []),
    ...(field.edits[0] in input.properties ? [listEditedTwice(field), tooManyReferences(entity, field)] : []),
  ])
  const errors = [...own, ...references]
  if (target.kind === 'new') return [...errors, unboundTokenNeeded()]
  if (target.kind === 'account' || role === null) return errors
  const ofRole = isAtLeast('VIEWER', role) ? [] : [roleNeeded(role)]
  return [...ofRole, ...errors, notFound(targetNoun(target)), ...(destination ? [notFound('Project')] : [])]
}

function operationId(name: string): string {
  const [verb = '', ...rest] = name.slice(name.indexOf('.') + 1).split('_')
  return [verb, nounOf(name), ...rest.map(capital)].join('')
}

const nounOf = (name: string): string => titleOf(name.slice(0, name.indexOf('.')) as Entity)

export function queryOperation(query: Query, summary: string) {
  const { about, body, callers, input, isList, errors = [], scope = 'read', eventStream } = query
  const { name } = query.view
  const isPost = body !== undefined || query.isStreamOnly || query.download !== undefined
  const { limit, cursor } = input?.properties ?? {}
  const pageErrors = [badLimit(limit?.maximum), ...(cursor ? [badCursor()] : [])]
  const own = [...(isList ? pageErrors : input ? [duplicateParameter('x')] : []), ...errors]
  return operation({
    ...(query.operation ?? { id: isList ? `list${name}s` : `get${name}`, tag: `${name}s` }),
    ...{ summary, body, query: input, description: about, scope: callers ? undefined : scope },
    responses: {
      200: responseToRead(query, isPost ? 'post' : isList ? 'page' : 'read'),
      ...(!isPost && { 304: { $ref: '#/components/responses/NotModified' } }),
    },
    requestHeaders: [
      ...headerIf(!isPost, 'If-None-Match'),
      ...headerIf(!isPost && eventStream, 'Last-Event-ID'),
    ],
    errors: body
      ? [sampleValidationError(body)!, ...own]
      : [...own, sampleValidationError(body, input) ?? duplicateParameter('x')],
  })
}

function responseToRead(query: Query, kind: 'post' | 'page' | 'read') {
  const { download, eventStream, isStreamOnly, isList, reply, examples } = query
  if (download) {
    const headers = headerRefs([...headersOf.download, ...(download.headers as HeaderName[])])
    return { ...download, headers: { ...headers, 'Cache-Control': noStoreHeader } }
  }
  const description = kind === 'post' ? 'The current state' : 'The current state, or the state at `asOf`'
  const one = isList ? Type.Array(query.view.schema) : query.view.schema
  const schema = reply?.schema ?? one
  return {
    description: isList ? 'One page' : (reply?.description ?? description),
    headers: {
      ...headerRefs(headersOf[kind]),
      ...(isStreamOnly && headerRefs(['Link'])),
      ...(eventStream && headerRefs(['X-Accel-Buffering'])),
      ...(query.input?.properties.q && headerRefs(['Docket-Indexed'])),
    },
    content: {
      ...(!isStreamOnly && {
        'application/json': { schema, ...(examples ? { examples } : { example: responseExample(schema) }) },
      }),
      ...(eventStream && { 'text/event-stream': eventStream }),
    },
  }
}

interface Operation {
  /** Generated clients use the id, such as `createTask`, as the function name. */
  id: string
  tag: string
  summary: string
  description?: string
  body?: TSchema
  query?: TSchema
  open?: boolean
  /** The scope that an API token needs; undefined if the operation needs a sign-in token. */
  scope?: Scope
  responses: Record<number, object | undefined>
  /** Statuses of common errors that not every operation has. */
  general?: ErrorStatus[]
  requestHeaders?: RequestHeader[]
  errors: HttpError[]
}

/** Responses are not validated at run time: views are typed, and tests compare responses with these schemas. */
export function operation({ id, tag, summary, body, query, open, scope, ...own }: Operation) {
  const token = scope ? `An API token needs the scope ${scope}.` : 'Requires a sign-in token.'
  const general: ErrorStatus[] = [414, 429, 500, 503, ...(own.general ?? [])]
  if (!open) general.push(401)
  if (body) general.push(408, 413, 415)
  const names = [...(own.requestHeaders ?? []), ...headerIf(general.includes(422), 'Idempotency-Key')]
  return {
    ...(body && { requestBody: requestBody(body) }),
    parameters: [...(query ? queryParameters(query) : []), ...names.map(headerParameter)],
    operationId: id,
    tags: [tag],
    summary,
    description: [own.description, open ? '' : token].filter(Boolean).join(' '),
    security: open ? [] : [{ bearer: [] }],
    ...(scope && { 'x-scope': scope }),
    responses: {
      ...own.responses,
      ...Object.fromEntries(general.map((status) => [status, commonResponse(status)])),
      ...errorResponses(open ? own.errors : withTokens(own.errors, scope)),
    },
  }
}

const requestBody = (schema: TSchema) => ({
  required: schema.default === undefined,
  ...(schema.description && { description: schema.description }),
  content: { 'application/json': { schema, example: requestExample(schema) } },
})

/** Adds the errors for API tokens, in the order of the checks. Every token has the scope `read`. */
const withTokens = (errors: HttpError[], scope?: Scope): HttpError[] => [
  ...(scope ? [] : [signInNeeded()]),
  ...errors,
  ...(scope && scope !== 'read' ? [scopeNeeded(scope)] : []),
]

export function sampleValidationError(body?: TSchema, query?: TSchema): HttpError | undefined {
  if (body) return validationError(Value.Errors(body, body.required?.length ? {} : { [firstOf(body)]: 0 }))
  return query && validationError(Value.Errors(query, { [`${firstOf(query)}s`]: '' }))
}

const firstOf = ({ properties }: TSchema): string => Object.keys(properties)[0]!

/** Example bodies omit optional fields of these formats, because the valid values depend on stored data. */
const formatsOfReferences = ['uuid', 'password', 'int64']

/** Builds an example body from the examples of its fields. With valid ids in the path, the example works unchanged. */
function requestExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  const { properties, required = [] } = schema
  return examplesOf(properties, (name, one) => required.includes(name) || !(one.readOnly || isReference(one)))
}

export function responseExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.type === 'object') return examplesOf(schema.properties)
  if (schema.type === 'array') return [responseExample(schema.items)]
  if (schema.anyOf) return responseExample(schema.anyOf[0])
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? schema.maximum ?? 1
  return schema.enum?.[0] ?? null
}

type IsGiven = (name: string, schema: TSchema) => boolean

function examplesOf(properties: Record<string, TSchema>, isGiven: IsGiven = () => true) {
  const included = Object.entries(properties).filter(([name, one]) => isGiven(name, one))
  return Object.fromEntries(included.map(([name, one]) => [name, responseExample(one)]))
}

const isReference = (schema: TSchema): boolean =>
  formatsOfReferences.includes(schema.format) ||
  unique in schema ||
  [schema.items ?? [], schema.anyOf ?? [], Object.values(schema.properties ?? {})].flat().some(isReference)
