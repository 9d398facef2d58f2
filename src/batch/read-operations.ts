import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { TObject, TSchema } from '@sinclair/typebox'
import { mapIds } from '../schema/input.ts'
import { canonicalId } from '../ids.ts'
import { parseInstant } from '../schema/text.ts'
import { nearest } from '../schema/nearest.ts'
import { validationError } from '../schema/validation.ts'
import { badRequest } from '../responses/errors.ts'
import { inTurn } from './in-turn.ts'
import type { Kind, Kinds, Operation } from './kinds.ts'

export const notHere = (key = 'projectId') =>
  badRequest(
    `${key} must be the project of the batch${key === 'id' ? '' : ': a task moves to another one alone'}`,
  )

/**
 * Holds each operation to its command's own schema, in the words in which the command alone is refused, and sees that
 * what it names by `#name` comes before it. @throws HttpError 400
 */
export const openReadOperations =
  (kinds: Kinds) =>
  (projectId: string, given: unknown[]): Operation[] => {
    const names = new Map<string, Kind>()
    return inTurn(given, (one) => {
      const kind = kindOf(kinds, one)
      const operation = tidied(kind, one as Operation)
      requireKnown(kind, operation, names)
      placeIn(projectId, kind, operation, names)
      if (operation.as !== undefined) names.set(operation.as, kind)
      return operation
    })
  }

function kindOf(kinds: Kinds, given: unknown): Kind {
  const { op } = (given ?? {}) as { op?: unknown }
  const kind = typeof op === 'string' && kinds.get(op)
  if (!kind) throw unknownOp(op, [...kinds.keys()])
  kind.check ??= TypeCompiler.Compile(kind.schema)
  if (!kind.check.Check(given)) throw validationError(kind.check.Errors(given))
  return kind
}

type Names = ReadonlyMap<string, Kind>

const besides = ['op', 'as', 'ifMatch', 'was']

function tidied({ command, ids, schema }: Kind, given: Operation): Operation {
  const operation: Record<string, unknown> = {}
  for (const key of [...besides, ...Object.keys(command.input.properties)])
    if (given[key] !== undefined) operation[key] = given[key]
  for (const key of ids)
    if (operation[key])
      operation[key] = mapIds(operation[key], (id) => (isReference(id) ? id : canonicalId(id)))
  if (given.was) {
    const fields = Object.entries(given.was)
    const { properties } = schema.properties.was as TObject
    operation.was = Object.fromEntries(fields.map(([key, value]) => [key, stored(properties[key]!, value)]))
  }
  return operation as Operation
}

/** Ids and instants as rows hold them, however they are written. */
function stored({ anyOf = [], ...schema }: TSchema, value: unknown): unknown {
  if (Array.isArray(value) && schema.items) return value.map((one) => stored(schema.items, one))
  if (typeof value !== 'string') return value
  const formats = [schema, ...anyOf].map(({ format }) => format)
  if (formats.includes('uuid')) return canonicalId(value)
  return formats.includes('date-time') ? (parseInstant(value) ?? value) : value
}

export const isReference = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith('#')

function requireKnown({ ids }: Kind, operation: Operation, names: Names): void {
  if (operation.as !== undefined && names.has(operation.as))
    throw badRequest('as must be a name that no operation before has')
  const isLost = (id: unknown) => isReference(id) && !names.has(id.slice(1))
  const lost = ids.find((key) => [operation[key]].flat().some(isLost))
  if (lost) throw badRequest(`${lost} must be an id, or the #name of an operation before`)
}

/** The project is the batch's own: said, by its id or a name, or not, it is no other one. */
function placeIn(projectId: string, { command, projectKey }: Kind, operation: Operation, names: Names): void {
  if (!projectKey) return
  const said = operation[projectKey] ?? projectId
  const isNamed = isReference(said) && names.get(said.slice(1))?.noun === 'project'
  if (!isNamed && said !== projectId) throw notHere(projectKey)
  if (command.target.kind === 'project') operation[projectKey] = projectId
  else delete operation[projectKey]
}

function unknownOp(op: unknown, known: string[]) {
  const meant = typeof op === 'string' && op.length <= 100 ? nearest(op, known) : undefined
  return badRequest(`op must be the name of a command${meant ? `; did you mean ${meant}?` : ''}`)
}
