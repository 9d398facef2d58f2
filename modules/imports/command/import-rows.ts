import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../../drizzle/rows.ts'
import type { Preload } from '../../../src/actor/preload.ts'
import { applyEvent, type ProjectState } from '../../../src/actor/state.ts'
import { command, contextOf, inProject, type RuleContext } from '../../../src/commands/command.ts'
import type { Entity } from '../../../src/model/entities.ts'
import type { EventDraft } from '../../../src/model/events.ts'
import { definitionOf } from '../../../src/model/model.ts'
import { view } from '../../../src/model/view.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import { IdOf, Input } from '../../../src/schema/input.ts'
import { decideOperation } from './decide.ts'
import { type ImportOperation, type ImportResult, isChild } from './operations.ts'

/** The maximum number of operations of a command. */
const maxImported = 1_200

const ImportRows = Input({
  projectId: IdOf('project'),
  dryRun: Type.Optional(Type.Boolean()),
  operations: Type.Array(Type.Unsafe<ImportOperation>({}), { maxItems: maxImported }),
})

export interface ImportedRows {
  /** The `batch` of the events. Missing if nothing changed. */
  batch?: number
  /** One result for each operation, in order. */
  results: ImportResult[]
}

/** Only workers run this command. A rejected operation does not reject the others. */
export const importRows = command('project.import', {
  input: ImportRows,
  target: inProject(),
  role: 'EDITOR',
  preload: ({ operations }) => preloadOf(operations),
  weight: ({ operations }) => operations.length,
  storesReply: true,
  decide(state, context, { dryRun, operations }) {
    const trial = state.fork()
    const changes: EventDraft[] = []
    const own = contextOf(context, { overwritesTexts: true })
    const results = operations.map((one) => decideOne(trial, own, one, changes))
    if (dryRun) return { changes: [], answer: { results } }
    const batch = changes.length > 0 ? state.version + 1 : undefined
    return { changes, isBatch: true, answer: { batch, results } }
  },
  view: view<ImportedRows>({
    name: 'ImportedRows',
    schema: Type.Object({}),
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
    const { changes: own = [], ...result } = decideOperation(state, context, operation)
    for (const change of own) applyEvent(state, change)
    changes.push(...own)
    return result
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return { outcome: 'rejected', id: operation.id, message: error.message }
  }
}

type Needed = Required<Pick<Preload, 'task' | 'facts' | 'referencedTasks'>>

function preloadOf(operations: ImportOperation[]): Preload {
  const need = { task: [], facts: [], referencedTasks: [] } as Preload & Needed
  const { factsFor } = definitionOf('task')
  for (const operation of operations) {
    if (isChild(operation)) {
      ;(need[operation.op as Entity] ??= []).push(operation.id)
      need.task.push(operation.taskId)
    } else if (operation.op === 'task') {
      need.facts.push(...factsFor!({ externalId: operation.externalId }))
      if (operation.ownId) need.task.push(operation.ownId)
    } else if (operation.op === 'references') {
      const { op: _, id, ...change } = operation
      need.facts.push(...factsFor!(change as Partial<TaskRow>))
      need.task.push(id, ...(change.after ? [change.after] : []))
      need.referencedTasks.push(...(change.addBlockedByIds ?? []))
    }
  }
  return need
}
