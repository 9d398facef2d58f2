import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { TObject, TSchema } from '@sinclair/typebox'
import { mapIds } from '../schema/input.ts'
import { canonicalId } from '../id-format.ts'
import { parseInstant } from '../schema/text.ts'
import { nearest } from '../schema/nearest.ts'
import { validationError } from '../schema/validation.ts'
import { badRequest } from '../responses/errors.ts'
import { mapInOrder } from './map-in-order.ts'
import type { OperationType, OperationTypes, Operation } from './operation-schema.ts'

export const wrongProject = (key = 'projectId') =>
  badRequest(
    `${key} must be the project of the batch${key === 'id' ? '' : '; a batch cannot move a task to another project'}`,
  )

/** Validates operations with the schemas of their commands. @throws HttpError 400, also for an undefined `#name` */
export const openReadOperations =
  (kinds: OperationTypes) =>
  (projectId: string, given: unknown[]): Operation[] => {
    const names = new Map<string, OperationType>()
    return mapInOrder(given, (one) => {
      const kind = kindOf(kinds, one)
      const operation = normalized(kind, one as Operation)
      requireNamesDefined(kind, operation, names)
      setProject(projectId, kind, operation, names)
      if (operation.as !== undefined) names.set(operation.as, kind)
      return operation
    })
  }

function kindOf(kinds: OperationTypes, given: unknown): OperationType {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw notOperation()
  const { op } = given as { op?: unknown }
  const kind = typeof op === 'string' && kinds.get(op)
  if (!kind) throw unknownOp(op, [...kinds.keys()])
  kind.check ??= TypeCompiler.Compile(kind.schema)
  if (!kind.check.Check(given)) throw validationError(kind.check.Errors(given))
  return kind
}

const notOperation = () => badRequest('The operation must be an object with the field op')

type Names = ReadonlyMap<string, OperationType>

const conditionFields = ['op', 'as', 'ifMatch', 'was']

function normalized({ command, idFields, schema }: OperationType, given: Operation): Operation {
  const operation: Record<string, unknown> = {}
  for (const key of [...conditionFields, ...Object.keys(command.input.properties)])
    if (given[key] !== undefined) operation[key] = given[key]
  for (const key of idFields)
    if (operation[key])
      operation[key] = mapIds(operation[key], (id) => (isReference(id) ? id : canonicalId(id)))
  if (given.was) {
    const fields = Object.entries(given.was)
    const { properties } = schema.properties.was as TObject
    operation.was = Object.fromEntries(
      fields.map(([key, value]) => [key, storedValue(properties[key]!, value)]),
    )
  }
  return operation as Operation
}

/** Converts ids and times to the form in which rows store them. */
function storedValue({ anyOf = [], ...schema }: TSchema, value: unknown): unknown {
  if (Array.isArray(value) && schema.items) return value.map((one) => storedValue(schema.items, one))
  if (typeof value !== 'string') return value
  const formats = [schema, ...anyOf].map(({ format }) => format)
  if (formats.includes('uuid')) return canonicalId(value)
  return formats.includes('date-time') ? (parseInstant(value) ?? value) : value
}

export const isReference = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith('#')

function requireNamesDefined({ idFields }: OperationType, operation: Operation, names: Names): void {
  if (operation.as !== undefined && names.has(operation.as))
    throw badRequest('"as" must be a name that no earlier operation has')
  const isLost = (id: unknown) => isReference(id) && !names.has(id.slice(1))
  for (const key of idFields) {
    const lost = [operation[key]].flat().find(isLost)
    if (isReference(lost)) throw unknownReference(key, lost, [...names.keys()])
  }
}

/** Sets the operation's project to the batch's project. @throws HttpError 400 if the operation names another project */
function setProject(
  projectId: string,
  { command, projectKey }: OperationType,
  operation: Operation,
  names: Names,
): void {
  if (!projectKey) return
  const said = operation[projectKey] ?? projectId
  const isNamed = isReference(said) && names.get(said.slice(1))?.noun === 'project'
  if (!isNamed && said !== projectId) throw wrongProject(projectKey)
  if (command.target.kind === 'project') operation[projectKey] = projectId
  else delete operation[projectKey]
}

function unknownReference(key: string, reference: string, known: string[]) {
  const meant = reference.length <= 100 ? nearest(reference.slice(1), known) : undefined
  const suggestion = meant === undefined ? '' : `; did you mean #${meant}?`
  return badRequest(`${key} must be an id, or the #name of an earlier operation${suggestion}`)
}

function unknownOp(op: unknown, known: string[]) {
  const meant = typeof op === 'string' && op.length <= 100 ? nearest(op, known) : undefined
  return badRequest(`op must be the name of a command${meant ? `; did you mean ${meant}?` : ''}`)
}
