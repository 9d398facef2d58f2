import { type Static, Type, type TSchema } from '@sinclair/typebox'
import type { Preload } from '../actor/load.ts'
import type { ProjectState } from '../actor/state.ts'
import { type Command, command, contextOf, inProject, type RuleContext } from '../commands/command.ts'
import { clientIdIn, decide, responseRow } from '../commands/decide.ts'
import { declaredPreload, personIn } from '../commands/execute.ts'
import { claimEnded, type IfClaim, requireClaim } from '../model/claims.ts'
import { canonicalId, isId } from '../id-format.ts'
import { type ProjectCaller, requireRole, requireScope, type Role, roleNeeded } from '../identity/rights.ts'
import { type EventDraft, isEqual } from '../model/events.ts'
import { definitionOf } from '../model/model.ts'
import type { Person } from '../reads/people.ts'
import { HttpError, conflict, badRequest, invalid, mapInOrder, withPrefix } from '../responses/errors.ts'
import { type EtagRow, preconditionFailed, requireMatch, textUnmatched } from '../responses/if-match.ts'
import { IdOf, Input, mapIds, OneOf } from '../schema/input.ts'
import {
  DryRun,
  operationsSchema,
  type OperationTypes,
  operationTypesOf,
  type Operation,
  subjectOf,
  type OperationType,
} from './operation-schema.ts'
import { nearest, openCheck } from '../schema/validation.ts'
import { type View, view } from '../model/view.ts'
import { etagOf } from '../responses/reply.ts'
import { Id, named } from '../schema/response.ts'

const about = `Runs operations one after another and commits all of them in one commit, or none. An operation has the name of
a command and its input, including the ids of the command's path. \`as\` names the resource of an operation; later operations
use \`#name\` as its id. If an operation is rejected, the batch is rejected with the same status, and the message contains the
index of the operation. Each operation needs the same role as outside of a batch. A batch cannot move tasks to another project.`

const versionChanged = (version?: number) =>
  new HttpError(
    412,
    'The project does not have the version in ifVersion',
    {},
    { code: 'version-changed', version },
  )

const BatchInput = (kinds: OperationTypes) =>
  Input({
    id: IdOf('project'),
    dryRun: DryRun,
    return: Type.Optional(
      OneOf('BatchReturn', ['minimal', 'full'], '`full` returns whole resources in place of ids and ETags'),
    ),
    ifVersion: Type.Optional(
      Type.Integer({
        minimum: 0,
        format: 'int64',
        description: 'A whole number, the version that the project must have: if not, 412 is returned',
        examples: [7],
      }),
    ),
    ifClaim: Type.Optional({
      ...Input({
        taskId: IdOf('task'),
        seq: Type.Integer({
          minimum: 1,
          description: 'A whole number, the `seq` of its claim',
          examples: [42],
        }),
      }),
      description:
        'An object with taskId and seq, a claim that must still hold its task, as in Docket-If-Claim: if not, 412 is returned',
    }),
    operations: operationsSchema<Operation>(new Map([...kinds].map(([op, { schema }]) => [op, schema]))),
  })

export function batchOf(commands: Command<never>[]) {
  const kinds = operationTypesOf(commands)
  const readOperations = openReadOperations(kinds)
  const input = BatchInput(kinds)
  const views = new Set([...kinds.values()].flatMap(({ command: { view: shows } }) => shows?.schema ?? []))
  return command('project.batch', {
    about: about.replaceAll('\n', ' '),
    input,
    queryFields: ['dryRun', 'return'],
    target: inProject('id'),
    role: 'VIEWER',
    complete: ({ ifClaim, ...given }) => ({
      ...given,
      ...(ifClaim && { ifClaim: { ...ifClaim, taskId: canonicalId(ifClaim.taskId) } }),
      operations: readOperations(given.id, given.operations),
    }),
    authorize: (projectCaller, { operations }) => authorizeEach(kinds, projectCaller, operations),
    lookups: ({ operations }, caller) => ({
      people: operations.map(({ op, ...own }) => commandOf(kinds, { op }).person?.(own, caller)),
      clientIds: operations.flatMap(({ op, ...own }) => clientIdIn(commandOf(kinds, { op }), own) ?? []),
    }),
    preload: (given) => preloadOf(kinds, given),
    weight: ({ operations }) => operations.length,
    cost: ({ operations }) =>
      operations.reduce((sum, one) => sum + (commandOf(kinds, one).cost?.(one) ?? 1), 0),
    isExpensive: ({ operations }) => operations.some((one) => commandOf(kinds, one).isExpensive?.(one)),
    invites: ({ operations }) => operations.filter((one) => commandOf(kinds, one).invites).length,
    storesReply: true,
    decide(state, context, { ifVersion, ifClaim, operations, dryRun, return: wanted }: Static<typeof input>) {
      if (state.project) requireMatch(context, state.project)
      if (ifClaim) requireClaim(ifClaim, context.now, state)
      if (ifVersion !== undefined && ifVersion !== state.version) throw versionChanged(state.version)
      const isFull = wanted === 'full'
      const { changes, results, version } = decideOperations(kinds, state, context, { operations, isFull })
      if (isFull && Buffer.byteLength(JSON.stringify(results)) > maxFullBytes) throw replyTooLarge()
      if (dryRun === 'true') return { changes: [], answer: { version: state.version, results } }
      const batch = changes.length > 0 ? state.version + 1 : undefined
      return { changes, isBatch: true, answer: { version, results, batch } }
    },
    view: batchViewOf([...views]),
    errors: batchErrors(),
  })
}

const operationError = (n: number, error: HttpError): HttpError => withPrefix(`operations[${n}]`, error)

/** Maps operations. Errors name the operation. */
const forEachOperation = <T, R>(operations: T[], map: (one: T, n: number) => R): R[] =>
  mapInOrder(operations, map, operationError)

const batchErrors = (): HttpError[] => [
  ...[wrongProject(), replyTooLarge(), preconditionFailed(), versionChanged(), claimEnded()],
  ...[operationError(0, roleNeeded('EDITOR')), operationError(0, wasConflict(['status']))],
  ...[operationError(0, textUnmatched())],
]

const commandOf = (kinds: OperationTypes, { op }: { op: string }): Command => kinds.get(op)!.command

/** The caller needs all rights before the batch: an operation cannot raise the rights for later operations. */
const authorizeEach = (kinds: OperationTypes, projectCaller: ProjectCaller, operations: Operation[]): void =>
  void forEachOperation(operations, ({ op, ...input }) => {
    const { role, scope, authorize } = commandOf(kinds, { op })
    requireRole(projectCaller.role, role as Role, 'Project')
    requireScope(projectCaller.caller, scope)
    authorize?.(projectCaller, input)
  })

function preloadOf(
  kinds: OperationTypes,
  { operations, ifClaim }: { operations: Operation[]; ifClaim?: IfClaim },
): Preload {
  const needs: Preload = { task: ifClaim && isId(ifClaim.taskId) ? [ifClaim.taskId] : [] }
  for (const { op, ...input } of operations) {
    const { command } = kinds.get(op)!
    const { target } = command
    const id = target.kind === 'new' ? '' : String(input[target.key])
    if (target.kind !== 'new' && target.kind !== 'project' && isId(id)) (needs[target.kind] ??= []).push(id)
    const own = declaredPreload(command, input)
    for (const key of ['facts', 'referencedTasks'] as const)
      for (const one of own?.[key] ?? []) (needs[key] ??= []).push(one as never)
  }
  return needs
}

type NamedRow = { id: string; person?: Person }

const wasConflict = (fields: string[]) => conflict(`The resource differs from "was" in: ${fields.join(', ')}`)

/** Decides each operation on the state after the previous operations. Pure. @throws HttpError of the first rejection */
function decideOperations(
  kinds: OperationTypes,
  state: ProjectState,
  context: RuleContext,
  { operations, isFull }: { operations: Operation[]; isFull: boolean },
) {
  const trial = state.fork()
  const names = new Map<string, NamedRow>()
  const changes: EventDraft[] = []
  const results = forEachOperation(operations, ({ op, as, was, ifMatch, ...rawInput }, n) => {
    const kind = kinds.get(op)!
    const input = { ...rawInput }
    const idOf = (id: string) => (isReference(id) ? rowNamed(names, id)?.id : id)
    for (const key of kind.idFields) if (input[key]) input[key] = mapIds(input[key], idOf)
    const subject = subjectOf(kind, input)
    const person = context.lookupResults?.people[n] ?? rowNamed(names, subjectOf(kind, rawInput))?.person
    const before = subject === undefined ? undefined : trial.row(kind.noun, subject)
    const shown = responseRow(trial, kind.noun, before, context.now)
    const rowBefore = (id: string) => state.row(kind.noun, id) as EtagRow | undefined
    const decision = decide(kind.command, trial, contextOf(context, { person, ifMatch, rowBefore }), input)
    if (kind.command.emptyReply && decision.answer === undefined) throw conflict(kind.command.emptyReply)
    const shownBy = personIn(trial, shown, person)
    if (was) requireWas(shown && definitionOf(kind.noun).view.of(shown as never, shownBy), was)
    for (const change of decision.changes) trial.apply(change)
    changes.push(...decision.changes)
    const id = (decision.answer as { id: string } | undefined)?.id ?? subject!
    if (ifMatch !== undefined && !rowBefore(id)) throw preconditionFailed()
    if (as !== undefined) names.set(as, { id, person })
    return resultOf(kind.command, id, decision.answer, isFull, personIn(trial, decision.answer, person))
  })
  return { changes, results, version: trial.version }
}

const rowNamed = (names: ReadonlyMap<string, NamedRow>, reference: unknown): NamedRow | undefined =>
  isReference(reference) ? names.get(reference.slice(1)) : undefined

/** Compares only the fields in `was`, so changes of other fields cause no conflict. */
function requireWas(row: object | undefined, was: Record<string, unknown>): void {
  const now = (row ?? {}) as Record<string, unknown>
  const changed = Object.keys(was).filter((name) => !isEqual(now[name], was[name]))
  if (changed.length > 0) throw wasConflict(changed)
}

const wrongProject = (key = 'projectId') =>
  invalid(
    key,
    `must be the project of the batch${key === 'id' ? '' : '; a batch cannot move a task to another project'}`,
  )

/** Validates operations with the schemas of their commands. @throws HttpError 400, also for an undefined `#name` */
function openReadOperations(kinds: OperationTypes) {
  const checks = new Map([...kinds.values()].map((kind) => [kind, openCheck(kind.schema)]))
  return (projectId: string, given: unknown[]): Operation[] => {
    const names = new Map<string, OperationType>()
    return forEachOperation(given, (one) => {
      const kind = kindOf(kinds, one)
      checks.get(kind)!(one)
      const operation = normalized(kind, one as Operation, names)
      setProject(projectId, kind, operation, names)
      if (operation.as !== undefined) names.set(operation.as, kind)
      return operation
    })
  }
}

function kindOf(kinds: OperationTypes, given: unknown): OperationType {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw badRequest('The operation must be an object with the field op')
  const { op } = given as { op?: unknown }
  const kind = typeof op === 'string' && kinds.get(op)
  if (!kind) throw badRequest(`op must be the name of a command${suggestion(op, kinds)}`)
  return kind
}

type Names = ReadonlyMap<string, OperationType>

/** Returns the fields of an operation, without read-only fields of its resource. Ids are in their usual form. */
function normalized({ command, idFields }: OperationType, given: Operation, names: Names): Operation {
  if (given.as !== undefined && names.has(given.as))
    throw badRequest('"as" must be a name that no earlier operation has')
  const operation: Record<string, unknown> = {}
  for (const key of ['op', 'as', 'ifMatch', 'was', ...Object.keys(command.input.properties)])
    if (given[key] !== undefined) operation[key] = given[key]
  for (const key of idFields)
    if (operation[key])
      operation[key] = mapIds(operation[key], (id) => {
        if (!isReference(id)) return canonicalId(id)
        const name = id.slice(1)
        if (names.has(name)) return id
        const meant = suggestion(name, names, '#')
        throw invalid(key, `must be an id, or the #name of an earlier operation${meant}`)
      })
  return operation as Operation
}

const isReference = (value: unknown): value is string => typeof value === 'string' && value.startsWith('#')

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

function suggestion(given: unknown, known: ReadonlyMap<string, unknown>, prefix = ''): string {
  const meant = typeof given === 'string' && given.length <= 100 && nearest(given, [...known.keys()])
  return meant ? `; did you mean ${prefix}${meant}?` : ''
}

/** Full resources may be far larger than the request, but a reply must fit in one RPC frame. */
const maxFullBytes = 500_000

const Result = named(
  'BatchResult',
  Type.Object({
    id: Id('The id of the resource'),
    etag: Type.Union([Type.String(), Type.Null()], {
      description: 'The new ETag of the resource; null if it was deleted',
      examples: ['"019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b"'],
    }),
    number: Type.Optional(Type.Integer({ minimum: 1, description: 'The number of a task', examples: [42] })),
  }),
)

interface BatchAnswer {
  version: number
  results: object[]
  batch?: number
}

const batchViewOf = (views: TSchema[]): View<BatchAnswer> =>
  view<BatchAnswer>({
    name: 'Batch',
    schema: Type.Object({
      version: Type.Integer({
        minimum: 0,
        description: "The project's version after the batch",
        examples: [7],
      }),
      results: Type.Array(Type.Union([Result, ...views]), {
        description: 'One result for each operation, in order',
      }),
      batch: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'The `batch` of the events, which an undo takes. Missing if nothing changed',
          examples: [7],
        }),
      ),
    }),
    of: (answer) => answer,
    hasNoEtag: true,
  })

function resultOf({ view: shows }: Command, id: string, answer: unknown, isFull: boolean, person?: Person) {
  if (!shows) return { id, etag: null }
  if (isFull) return shows.of(answer, person)
  if (shows.hasNoEtag) return { id, etag: null }
  const { number, ...row } = answer as { id: string; eventId: string; number?: number }
  return {
    id: row.id,
    etag: etagOf(row, shows.etagSuffix?.(answer, person)),
    ...(number !== undefined && { number }),
  }
}

const replyTooLarge = () =>
  badRequest(`return=full returns at most ${maxFullBytes} bytes; send the batch without return=full`)
