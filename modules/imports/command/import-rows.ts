import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Preload } from '../../../src/actor/preload.ts'
import { evolve, type ProjectState } from '../../../src/actor/state.ts'
import { command, inProject, type RuleContext } from '../../../src/commands/command.ts'
import { requireRole, requireScope } from '../../../src/identity/rights.ts'
import type { EventDraft } from '../../../src/model/events.ts'
import { view } from '../../../src/model/view.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import { IdOf, Input } from '../../../src/schema/input.ts'
import { validationError } from '../../../src/schema/validation.ts'
import { spotFacts } from '../../order/place.ts'
import { blockerFacts } from '../../tasks/blockers.ts'
import { externalIdFacts } from '../../tasks/external-ids.ts'
import { decideOperation } from './decide.ts'
import { type ImportOperation, ImportResult, maxImported, operationSchemas } from './operations.ts'

const ImportRows = Input({
  projectId: IdOf('project'),
  dryRun: Type.Optional(Type.Boolean()),
  operations: Type.Array(Type.Unsafe<ImportOperation>({}), { maxItems: maxImported }),
})
type ImportInput = Static<typeof ImportRows>

const ImportedRows = Type.Object({
  batch: Type.Optional(
    Type.Integer({ description: 'The `batch` of the events. Missing if nothing changed' }),
  ),
  results: Type.Array(ImportResult, { description: 'One result for each operation, in order' }),
})
export type ImportedRows = Static<typeof ImportedRows>

/** Only workers run this command. A rejected operation does not reject the others. */
export const importRows = command('project.import', {
  input: ImportRows,
  target: inProject(),
  role: 'EDITOR',
  authorize({ caller, role }, input) {
    if (!input.operations.some(({ op }) => op === 'field' || op === 'project')) return
    requireRole(role, 'ADMIN', 'Project')
    requireScope(caller, 'admin')
  },
  preload: preloadOf,
  weight: ({ operations }) => operations.length,
  storesReply: true,
  decide(state, context, { dryRun, operations }) {
    const trial = state.fork()
    const changes: EventDraft[] = []
    const results = operations.map((one) => decideOne(trial, context, one, changes))
    if (dryRun) return { changes: [], answer: { results }, isProvisional: true }
    const batch = changes.length > 0 ? state.version + 1 : undefined
    return { changes, isBatch: true, answer: { batch, results } }
  },
  view: view<ImportedRows>({
    name: 'ImportedRows',
    schema: ImportedRows,
    of: (answer) => answer,
    hasNoEtag: true,
  }),
})

/** Applies the operation's events to `state`, and adds them to `changes`. */
function decideOne(
  state: ReturnType<ProjectState['fork']>,
  context: RuleContext,
  operation: ImportOperation,
  changes: EventDraft[],
): ImportResult {
  try {
    requireValid(operation)
    const { changes: own = [], ...result } = decideOperation(state, context, operation)
    for (const change of own) evolve(state, change)
    changes.push(...own)
    return result
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    const id = 'id' in operation ? operation.id : operation.taskId
    return { outcome: 'rejected', id, message: error.message }
  }
}

const checks = new Map(
  Object.entries(operationSchemas).map(([op, schema]) => [op, TypeCompiler.Compile(schema)]),
)
const checkOf = ({ op }: ImportOperation) => checks.get(op)!

/** Returns the fields that the schema checks: the values of a task are fields of its operation, as in errors. */
function fieldsOf({ op: _, ...operation }: ImportOperation): object {
  const { values, ...fields } = { values: {}, ...operation }
  return { ...fields, ...values }
}

/** Operations that were checked before, because the preload and each attempt to commit check them. */
const valid = new WeakSet<ImportOperation>()

function isValid(operation: ImportOperation): boolean {
  if (valid.has(operation)) return true
  if (!checkOf(operation).Check(fieldsOf(operation))) return false
  valid.add(operation)
  return true
}

/** @throws HttpError 400 */
function requireValid(operation: ImportOperation): void {
  if (!isValid(operation)) throw validationError(checkOf(operation).Errors(fieldsOf(operation)))
}

function preloadOf({ operations }: ImportInput): Preload {
  const need: Needed = { task: [], subtask: [], comment: [], facts: [], referencedTasks: [] }
  for (const operation of operations.filter(isValid)) {
    const { op } = operation
    if ('taskId' in operation) need.task.push(operation.taskId)
    if (op === 'subtask' || op === 'comment') need[op].push(operation.id)
    if (op === 'task') {
      need.facts.push(...externalIdFacts(operation))
      if (operation.ownId) need.task.push(operation.ownId)
    }
    if (op !== 'references') continue
    const { after, blockedByIds } = operation
    if (after !== undefined) need.facts.push(...spotFacts(after ? { after } : { place: 'first' }))
    if (after) need.task.push(after)
    need.facts.push(...blockerFacts(operation))
    need.referencedTasks.push(...blockedByIds)
  }
  return need
}
type Needed = Required<Pick<Preload, 'task' | 'subtask' | 'comment' | 'facts' | 'referencedTasks'>>
