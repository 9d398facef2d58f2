import { Type } from '@sinclair/typebox'
import type { Preload } from '../../src/actor/load.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { type Command, command, contextOf, inProject, type RuleContext } from '../../src/commands/command.ts'
import { decide } from '../../src/commands/decide.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { diff, type EventDraft } from '../../src/model/events.ts'
import { definitionOf } from '../../src/model/model.ts'
import { view } from '../../src/model/view.ts'
import { commandsOf } from '../../src/module.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import { HttpError, idTaken } from '../../src/responses/errors.ts'
import { IdOf, Input, caseless } from '../../src/schema/input.ts'
import { openCheck } from '../../src/schema/validation.ts'
import { optionNamed } from '../fields/values.ts'
import { modules } from '../modules.ts'
import { externalIds } from '../tasks/blockers.ts'

/** A row to create or to change: values that the commands of its entity accept, and values that only an import sets. */
export interface ImportOperation {
  /** `references` adds `addBlockedByIds` to the task `id`, and places the task in the order of the project. */
  op: 'project' | 'label' | 'field' | 'task' | 'references' | ChildOfTask
  /** The id of a new row. */
  id: string
  /** The time and the author of a new row in the source. */
  createdAt?: string
  importedAuthor?: string
  /** A task of the project has this id or the external id; otherwise the operation creates a task. */
  ownId?: string
  externalId?: string
  /** A new task gets this number if it is higher than all numbers of the project. */
  number?: number
  /** The task of a child. */
  taskId?: string
  addBlockedByIds?: string[]
  after?: string
  [value: string]: unknown
}

export interface ImportResult {
  outcome: 'created' | 'updated' | 'unchanged' | 'rejected'
  /** The id that the row has in the project. */
  id: string
  /** Why the operation was rejected. */
  message?: string
}

export interface ImportedRows {
  /** The `batch` of the events. Missing if nothing changed. */
  batch?: number
  /** One result for each operation, in order. */
  results: ImportResult[]
}

const maxOperations = 1_200

const ImportRows = Input({
  projectId: IdOf('project'),
  dryRun: Type.Optional(Type.Boolean()),
  operations: Type.Array(Type.Unsafe<ImportOperation>({}), { maxItems: maxOperations }),
})

/** Only workers run this command. A rejected operation does not reject the other operations. */
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
    const rules = new Rules(trial, contextOf(context, { overwritesTexts: true }))
    const results = operations.map((operation): ImportResult => {
      try {
        const { op, taskId } = operation
        const rule = taskId === undefined ? (op as 'task') : 'child'
        const { changes: decided = [], ...result } = rules[rule](operation)
        for (const change of decided) trial.apply(change)
        changes.push(...decided)
        return result
      } catch (error) {
        if (!(error instanceof HttpError)) throw error
        return { outcome: 'rejected', id: operation.id, message: error.message }
      }
    })
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

function preloadOf(operations: ImportOperation[]): Preload {
  const { factsFor } = definitionOf('task')
  const need = { task: [] as string[], facts: [] as object[], referencedTasks: [] as string[] }
  const children: Preload = {}
  for (const operation of operations) {
    const { op, id, taskId, ownId, after, addBlockedByIds = [] } = operation
    const tasks = [taskId, ownId, after, op === 'references' ? id : undefined]
    need.task.push(...tasks.filter((one) => one !== undefined))
    need.referencedTasks.push(...addBlockedByIds)
    if (taskId !== undefined) (children[op as ChildOfTask] ??= []).push(id)
    else need.facts.push(...factsFor!(operation as object))
  }
  return { ...children, ...need } as Preload
}

interface Decided extends ImportResult {
  changes?: EventDraft[]
}
type Values = Record<string, unknown>
type NewRow = Values & { op: string; createdAt?: string; importedAuthor?: string }

const unchanged = (id: string): Decided => ({ outcome: 'unchanged', id })

/** The rules for the operations. @throws HttpError if an operation is rejected */
class Rules {
  constructor(
    private readonly state: ProjectState,
    private readonly context: RuleContext,
  ) {}

  /** Sets the description and the settings of a project that has none. Requires ADMIN. */
  project({ op: _, ...given }: ImportOperation): Decided {
    const project = this.state.project as Values | null
    const missing = Object.entries(given).filter(([name]) => !project?.[name])
    return this.update('project', { ...Object.fromEntries(missing), id: this.state.projectId })
  }

  label(operation: ImportOperation): Decided {
    const wanted = caseless(String(operation.name))
    const same = this.state.all('label').find(({ name }) => caseless(name) === wanted)
    return same ? unchanged(same.id) : this.create(operation)
  }

  /** Creates a missing field, or adds the missing options to a field. Requires ADMIN. */
  field(operation: ImportOperation): Decided {
    const same = this.state.all('field').find(({ key }) => key === operation.key)
    if (!same) return this.create(operation)
    const { id, type, options: known } = same
    const given = type === 'choice' ? ((operation.options as string[] | undefined) ?? []) : []
    const missing = given.filter((one) => optionNamed(known, one) === undefined)
    return missing.length > 0
      ? this.update('field', { id, options: [...(known ?? []), ...missing] })
      : unchanged(id)
  }

  task(operation: ImportOperation): Decided {
    const { state } = this
    const { op, ownId = '', number = 0, createdAt, importedAuthor, externalId = '', ...values } = operation
    const isOwn = state.row('task', ownId)?.projectId === state.projectId
    const id = isOwn ? ownId : state.fact(externalIds).get(externalId)?.id
    if (id === undefined) {
      const row = { ...values, op, externalId, createdAt, importedAuthor }
      return this.create(row, number > state.lastNumber ? { number } : {})
    }
    const changed = isOwn && externalId === `docket:${id}` ? null : externalId
    return this.update('task', { ...values, externalId: changed, id })
  }

  references({ op: _, ...values }: ImportOperation): Decided {
    return this.update('task', values)
  }

  /**
   * A child may get the id of a deleted row: an undo may have deleted the row of the same item. The account that imports
   * becomes the author. A new row also gets values that only the command for changes accepts.
   * @throws HttpError 409 if another task has the child
   */
  child({ op, id, taskId, createdAt, importedAuthor, ...values }: ImportOperation): Decided {
    const row = this.state.row(op as ChildOfTask, id)
    if (row && row.taskId !== taskId) throw idTaken()
    // Only the author may edit a comment. Another account can still import the same text.
    if (row && !diff<object>(row, values)) return unchanged(id)
    if (row) return this.update(op, { ...partFor(`${op}.update`, values), id })
    const columns = columnsOf(definitionOf(op as ChildOfTask).table).map(({ key }) => key)
    const author = columns.includes('importedAuthor') ? importedAuthor : undefined
    const given = { ...partFor(`${op}.create`, values), createdAt, importedAuthor: author }
    return this.create({ op, taskId, ...given }, { ...partFor(`${op}.create`, values, false), id })
  }

  /** @param own values that the command does not accept. The command rejects the id of a deleted row. */
  private create({ op, createdAt = this.context.now, importedAuthor, ...values }: NewRow, own: Values = {}) {
    const place = values.taskId ? {} : { projectId: this.state.projectId }
    const [change] = this.run(`${op}.create`, { ...values, ...place })
    const origin = { createdAt, ...(importedAuthor && { importedAuthor }) }
    const { id } = Object.assign(change!.after!, origin, own) as unknown as { id: string }
    return { outcome: 'created' as const, id, changes: [Object.assign(change!, { entityId: id })] }
  }

  private update(op: string, input: Values & { id: string }): Decided {
    const changes = Object.keys(input).length > 1 ? this.run(`${op}.update`, input) : []
    return changes.length > 0 ? { outcome: 'updated', id: input.id, changes } : unchanged(input.id)
  }

  private run(name: string, input: Values): EventDraft[] {
    const one = commandNamed(name)!
    one.check(input)
    return decide(one, this.state, this.context, input as never).changes
  }
}

type AnyCommand = Command<{ id: string }> & { check: ReturnType<typeof openCheck> }
const commands = new Map<string, AnyCommand>()

/** Returns a command such as `comment.create`. */
function commandNamed(name: string): AnyCommand | undefined {
  if (commands.size === 0)
    for (const one of commandsOf(modules) as unknown as AnyCommand[])
      commands.set(one.name, { ...one, check: openCheck(one.input) })
  return commands.get(name)
}

/** Returns the values that a command accepts, or the other values. */
function partFor(name: string, values: Values, isAccepted = true): Values {
  const accepted = commandNamed(name)?.input.properties ?? {}
  return Object.fromEntries(Object.entries(values).filter(([key]) => key in accepted === isAccepted))
}
