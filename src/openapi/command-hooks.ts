import type { WriteDefinition } from '../commands/command.ts'
import { targetNoun } from '../commands/decide.ts'
import type { Entity } from '../model/entities.ts'
import { invalidReference, referencesOf } from '../model/references.ts'
import { Body, Input } from '../schema/input.ts'
import { unboundTokenNeeded, roleNeeded, suffices } from '../identity/rights.ts'
import { Message, sampleId } from '../schema/response.ts'
import { named, nameOf } from '../schema/named.ts'
import { invalidIdempotencyKey, notFound, type HttpError } from '../responses/errors.ts'
import { pathFields, bodyFields } from '../commands/input-fields.ts'
import { answerExample } from './example.ts'
import { headersOf, locationAt, noStoreHeader, headerRefs } from './headers.ts'
import { sampleValidationError, operation } from './operation.ts'

/** What Elysia and the document know of a command at a path. */
export function commandHooks<Row>(path: string, command: WriteDefinition<never, Row>, summary: string) {
  const { about, callers, role, name, status } = command
  const { id, tag } = command.operation ?? { id: operationId(name), tag: `${nounOf(name)}s` }
  const given = pathFields(path, command)
  const body = bodyOf(command, given, capital(id))
  const takes = role === 'EDITOR' || role === 'ADMIN' ? `Takes the role ${role}.` : ''
  const query = queryOf(command)
  const changes = command.does !== 'add' && status !== 201
  return operation({
    ...{ id, tag, summary, body, query },
    open: callers === 'anyone',
    scope: callers ? undefined : command.scope,
    description: [about, takes].filter(Boolean).join(' '),
    responses: { [status]: answerOf(command, given) },
    general: changes ? [422, 412] : [422],
    errors: [sampleValidationError(body, query) ?? invalidIdempotencyKey(), ...errorsOf(command)],
  })
}

const done = { 200: 'Done: as it is now', 201: 'Made', 202: 'Done', 204: 'Done' }

function answerOf<Row>(command: WriteDefinition<never, Row>, given: [string, string][]) {
  const { isSecret, location, status } = command
  const shows = status === 204 ? undefined : command.view
  const schema = shows?.schema ?? Message
  const example = shows ? answerExample(schema) : { message: command.message ?? '' }
  const where = Object.fromEntries(given.map(([, key]) => [key, sampleId]))
  return {
    description: command.replyDescription ?? done[status],
    headers: {
      ...headerRefs(headersOf.write),
      ...(shows && !shows.hasNoEtag && headerRefs(['ETag'])),
      ...(shows?.hasNoEtag && !isSecret && headerRefs(['Docket-Version'])),
      ...(isSecret && { 'Cache-Control': noStoreHeader }),
      ...(location && { Location: locationAt(location(sampleId, where as never)) }),
    },
    ...(status !== 204 && { content: { 'application/json': { schema, example } } }),
  }
}

function bodyOf<Row>(command: WriteDefinition<never, Row>, given: [string, string][], name: string) {
  const { body, input, view: shows } = command
  if (body || nameOf(input)) return body ?? input
  const keys = bodyFields(command, given)
  const fields = Object.fromEntries(keys.map((key) => [key, input.properties[key]!]))
  if (keys.length === 0) return undefined
  const { examples } = input // of a body of which not all may be said at once
  const own = { ...Input(fields), ...(examples && { examples }) }
  return named(name, shows?.hasNoEtag ? own : Body(fields, shows?.schema ?? Input({})))
}

const queryOf = <Row>({ input, queryFields }: WriteDefinition<never, Row>) =>
  queryFields && Input(Object.fromEntries(queryFields.map((key) => [key, input.properties[key]!])))

/** The errors of its rule, and those of every command at such a place. */
function errorsOf<Row>({
  name,
  input,
  target,
  destination,
  role,
  ...own
}: WriteDefinition<never, Row>): HttpError[] {
  const fields = referencesOf(name.slice(0, name.indexOf('.')) as Entity) ?? []
  const referred = fields.filter((field) => field.name in input.properties).map(invalidReference)
  const errors = [...(own.errors ?? []), ...referred]
  if (target.kind === 'new') return [...errors, unboundTokenNeeded()]
  if (target.kind === 'account' || role === 'nobody') return errors
  const forRole = suffices('VIEWER', role) ? [] : [roleNeeded(role)]
  return [...forRole, ...errors, notFound(targetNoun(target)), ...(destination ? [notFound('Project')] : [])]
}

/** `member.set_role` is setMemberRole. */
function operationId(name: string): string {
  const [verb = '', ...rest] = name.slice(name.indexOf('.') + 1).split('_')
  return [verb, nounOf(name), ...rest.map(capital)].join('')
}

const nounOf = (name: string): string => capital(name.slice(0, name.indexOf('.')))
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
