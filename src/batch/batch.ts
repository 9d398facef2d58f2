import { type Static, Type } from '@sinclair/typebox'
import type { Preload } from '../actor/preload.ts'
import { applyEvent, type ProjectState } from '../actor/state.ts'
import { type Command, command, contextOf, inProject, type RuleContext } from '../commands/command.ts'
import { clientIdIn, decide, responseRow } from '../commands/decide.ts'
import { declaredPreload, personIn } from '../commands/execute.ts'
import { claimEnded, type IfClaim, requireClaim } from '../commands/if-claim.ts'
import type { LookupResults } from '../commands/request.ts'
import { canonicalId, isId } from '../id-format.ts'
import { type ProjectCaller, requireRole, requireScope, type Role, roleNeeded } from '../identity/rights.ts'
import type { Entity } from '../model/entities.ts'
import { type EventDraft, isEqual } from '../model/events.ts'
import { definitionOf } from '../model/model.ts'
import type { Person } from '../reads/people.ts'
import { HttpError, conflict } from '../responses/errors.ts'
import { type EtagRow, preconditionFailed, requireMatch, textUnmatched } from '../responses/if-match.ts'
import { IdOf, Input, mapIds } from '../schema/input.ts'
import { OneOf } from '../schema/text.ts'
import { mapInOrder, operationError, rejectReinvited } from './map-in-order.ts'
import {
  DryRun,
  operationsSchema,
  type OperationTypes,
  operationTypesOf,
  type Operation,
  subjectOf,
} from './operation-schema.ts'
import { wrongProject, openReadOperations, isReference } from './read-operations.ts'
import { batchViewOf, requireSmallReply, replyTooLarge, resultOf } from './results.ts'

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

const IfClaimSchema = Type.Object(
  {
    taskId: IdOf('task'),
    seq: Type.Integer({ minimum: 1, description: 'A whole number, the `seq` of its claim', examples: [42] }),
  },
  {
    additionalProperties: false,
    description:
      'An object with taskId and seq, a claim that must still hold its task, as in Docket-If-Claim: if not, 412 is returned',
  },
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
    ifClaim: Type.Optional(IfClaimSchema),
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
    complete: (given) => ({ ...canonical(given), operations: readOperations(given.id, given.operations) }),
    authorize: (projectCaller, { operations }) => authorizeEach(kinds, projectCaller, operations),
    lookups: ({ operations }, caller) => ({
      people: operations.map(({ op, ...own }) => commandOf(kinds, { op }).person?.(own, caller)),
      children: childrenOf(kinds, operations),
      clientIds: operations.flatMap(({ op, ...own }) => clientIdIn(commandOf(kinds, { op }), own) ?? []),
    }),
    preload: (given, lookupResults) => preloadOf(kinds, given, lookupResults),
    weight: ({ operations }) => operations.length,
    cost: ({ operations }) => totalOf(operations, (one) => commandOf(kinds, one).cost?.(one) ?? 1),
    isExpensive: ({ operations }) => operations.some((one) => commandOf(kinds, one).isExpensive?.(one)),
    invites: ({ operations }) => operations.filter((one) => commandOf(kinds, one).invites).length,
    storesReply: true,
    decide(state, context, { ifVersion, ifClaim, operations, dryRun, return: wanted }: Static<typeof input>) {
      if (state.project) requireMatch(context, state.project)
      if (ifClaim) requireClaim(ifClaim, context.now, state)
      if (ifVersion !== undefined && ifVersion !== state.version) throw versionChanged(state.version)
      const isFull = wanted === 'full'
      const { changes, results, version } = decideOperations(kinds, state, context, { operations, isFull })
      if (isFull) requireSmallReply(results)
      if (dryRun === 'true') return { changes: [], answer: { version: state.version, results } }
      const batch = changes.length > 0 ? state.version + 1 : undefined
      return { changes, isBatch: true, answer: { version, results, batch } }
    },
    view: batchViewOf([...views]),
    errors: batchErrors(),
  })
}

const canonical = <Input extends { ifClaim?: IfClaim }>({ ifClaim, ...given }: Input) =>
  ifClaim ? { ...given, ifClaim: { ...ifClaim, taskId: canonicalId(ifClaim.taskId) } } : given

const batchErrors = (): HttpError[] => [
  ...[wrongProject(), replyTooLarge(), preconditionFailed(), versionChanged(), claimEnded()],
  ...[operationError(0, roleNeeded('EDITOR')), operationError(0, wasConflict(['status']))],
  ...[operationError(1, reinvited()), operationError(0, textUnmatched())],
]

const totalOf = <T>(all: T[], of: (one: T) => number) => all.reduce((sum, one) => sum + of(one), 0)

const commandOf = (kinds: OperationTypes, { op }: { op: string }): Command => kinds.get(op)!.command

/** The caller needs all rights before the batch: an operation cannot raise the rights for later operations. */
const authorizeEach = (kinds: OperationTypes, projectCaller: ProjectCaller, operations: Operation[]): void =>
  void mapInOrder(operations, ({ op, ...input }) => {
    const { role, scope, authorize } = commandOf(kinds, { op })
    requireRole(projectCaller.role, role as Role, 'Project')
    requireScope(projectCaller.caller, scope)
    authorize?.(projectCaller, input)
  })

const childrenOf = (kinds: OperationTypes, operations: Operation[]) =>
  operations.flatMap(({ op, id }) => {
    const { kind } = commandOf(kinds, { op }).target
    const isPart = kind !== 'new' && definitionOf(kind).parent === 'task' && isId(String(id))
    return isPart ? [{ kind, id: String(id) }] : []
  })

function preloadOf(
  kinds: OperationTypes,
  { operations, ifClaim }: { operations: Operation[]; ifClaim?: IfClaim },
  lookupResults?: LookupResults,
): Preload {
  const needs: Preload = { task: ifClaim && isId(ifClaim.taskId) ? [ifClaim.taskId] : [] }
  const need = (kind: Entity, id: string) => (needs[kind] ??= []).push(id)
  for (const { op, ...input } of operations) {
    const { command } = kinds.get(op)!
    const { target } = command
    const isRow =
      target.kind !== 'new' && target.kind !== 'project' && definitionOf(target.kind).parent === 'project'
    if (isRow && isId(String(input[target.key]))) need(target.kind, String(input[target.key]))
    const own = declaredPreload(command, input, lookupResults)
    for (const key of ['integrations', 'facts', 'referencedTasks'] as const)
      for (const one of own?.[key] ?? []) (needs[key] ??= []).push(one as never)
  }
  for (const [n, { kind, id }] of childrenOf(kinds, operations).entries()) {
    const taskId = lookupResults?.taskIds[n]
    if (!taskId) continue
    need('task', taskId)
    need(kind, id)
  }
  return needs
}

interface NamedRow {
  id: string
  person?: Person
}

const wasConflict = (fields: string[]) =>
  conflict(`The resource differs from "was" in: ${fields.join(', ')}`, { code: 'was-differs' })
const reinvited = () => conflict('A member removed in a batch cannot be invited again in the same batch')

/** Decides each operation on the state after the previous operations. Pure. @throws HttpError of the first rejection */
function decideOperations(
  kinds: OperationTypes,
  state: ProjectState,
  context: RuleContext,
  { operations, isFull }: { operations: Operation[]; isFull: boolean },
) {
  const trial = state.fork()
  const names = new Map<string, NamedRow>()
  const removedMembers = new Map<string, string>()
  const changes: EventDraft[] = []
  const results = mapInOrder(operations, ({ op, as, was, ifMatch, ...rawInput }, n) => {
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
    rejectReinvited(removedMembers, decision.changes, reinvited)
    for (const change of decision.changes) applyEvent(trial, change)
    changes.push(...decision.changes)
    const id = (decision.answer as { id: string } | undefined)?.id ?? subject!
    if (ifMatch !== undefined && !rowBefore(id)) throw preconditionFailed()
    if (as !== undefined) names.set(as, { id, person })
    return resultOf(kind.command, id, decision.answer, personIn(trial, decision.answer, person), isFull)
  })
  return { changes, results, version: trial.version }
}

const rowNamed = (names: ReadonlyMap<string, NamedRow>, reference: unknown): NamedRow | undefined =>
  isReference(reference) ? names.get(reference.slice(1)) : undefined

/** Compares only the fields in `was`, so changes of other fields cause no conflict. */
function requireWas(row: object | undefined, was: Record<string, unknown>): void {
  const now = (row ?? {}) as Record<string, unknown>
  const differing = Object.keys(was).filter((name) => !isEqual(now[name], was[name]))
  if (differing.length > 0) throw wasConflict(differing)
}
