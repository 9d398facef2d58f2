import type { TObject } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { ProjectState } from '../../../src/actor/state.ts'
import type { Command, RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import { diff, type EventDraft } from '../../../src/model/events.ts'
import { definitionOf } from '../../../src/model/model.ts'
import { commandsOf } from '../../../src/module.ts'
import { columnsOf } from '../../../src/postgres/columns.ts'
import { badRequest, idTaken } from '../../../src/responses/errors.ts'
import { caseless, parseInstant } from '../../../src/schema/text.ts'
import { validationError } from '../../../src/schema/validation.ts'
import { fitsField, optionNamed } from '../../fields/values.ts'
import { modules } from '../../modules.ts'
import { externalIds } from '../../tasks/external-ids.ts'
import {
  type ChildOperation,
  type ImportOperation,
  type ImportResult,
  isChild,
  type Operation,
} from './operations.ts'

interface Decided extends ImportResult {
  changes?: EventDraft[]
}

/** Decides one operation of an import. @throws HttpError if the operation is rejected */
export function decideOperation(
  state: ProjectState,
  context: RuleContext,
  operation: ImportOperation,
): Decided {
  const decision = new Decision(state, context)
  return isChild(operation) ? decision.child(operation) : decision[operation.op](operation as never)
}

type AnyCommand = Command<{ id: string }, object> & { input: TObject; check?: TypeCheck<TObject> }
const commands = new Map<string, AnyCommand>()

/** Returns a command such as `comment.create`. */
function commandNamed(name: string): AnyCommand | undefined {
  if (commands.size === 0)
    for (const one of commandsOf(modules)) commands.set(one.name, { ...one } as unknown as AnyCommand)
  return commands.get(name)
}

type Values = Record<string, unknown>

const unchanged = (id: string, message?: string): Decided => ({ outcome: 'unchanged', id, message })

class Decision {
  constructor(
    private readonly state: ProjectState,
    private readonly context: RuleContext,
  ) {}

  project({ description, textEdits }: Operation<'project'>): Decided {
    const { projectId: id, project } = this.state
    const given = {
      ...(!project?.description && description && { description }),
      ...(!project?.textEdits && textEdits && { textEdits }),
    }
    return Object.keys(given).length > 0 ? this.update('project', { ...given, id }) : unchanged(id)
  }

  label(operation: Operation<'label'>): Decided {
    const wanted = caseless(operation.name.trim())
    const same = this.state.all('label').find(({ name }) => caseless(name) === wanted)
    return same ? unchanged(same.id) : this.create(operation)
  }

  /** Adds missing options to an existing field of the type choice. Every value can become text. */
  field(operation: Operation<'field'>): Decided {
    const same = this.state.all('field').find(({ key }) => key === operation.key)
    if (!same) return this.create(operation)
    const { id, type } = same
    if (type !== operation.type && operation.type !== 'text')
      return unchanged(id, `The field of the project has the type ${type}, and not ${operation.type}`)
    const known = same.options ?? []
    const given = type === 'choice' ? (operation.options ?? []).map((one) => one.trim()) : []
    const missing = given.filter((one) => optionNamed(known, one) === undefined)
    return missing.length > 0 ? this.update('field', { id, options: [...known, ...missing] }) : unchanged(id)
  }

  task({ ownId = '', number = 0, ...operation }: Operation<'task'>): Decided {
    const { projectId, lastNumber } = this.state
    const { op: _, createdAt: __, importedAuthor: ___, externalId, ...values } = operation
    const isOwn = this.state.row('task', ownId)?.projectId === projectId
    const id = isOwn ? ownId : this.state.fact(externalIds).holderOf(externalId.trim())?.id
    if (id === undefined) return this.create(operation, number > lastNumber ? { number } : {})
    const fields = values.fields && this.withoutHidden(id, values.fields)
    const input = { ...values, ...(fields && { fields }), id }
    const isOwnExternalId = isOwn && externalId === `docket:${id}`
    return this.update('task', { ...input, externalId: isOwnExternalId ? null : externalId })
  }

  references({ op: _, ...values }: Operation<'references'>): Decided {
    return this.update('task', values)
  }

  /**
   * A child may get the id of a deleted row: an undo may have deleted the row of the same item. The account that imports
   * becomes the author. A new row also gets values that only the command for changes accepts.
   * @throws HttpError 409 if another task has the child
   */
  child(operation: ChildOperation): Decided {
    const { op, id, taskId, createdAt, importedAuthor, ...given } = operation
    const values: Values = Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, typeof value === 'string' ? value.trim() : value]),
    )
    const partFor = ({ input }: AnyCommand, isInput = true) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => name in input.properties === isInput))
    const row = this.state.row(op, id)
    if (row && row.taskId !== taskId) throw idTaken()
    const change = commandNamed(`${op}.update`)
    // Only the author may edit a comment. Another account can still import the same text.
    if (row && change && diff<object>(row, values) !== null)
      return this.update(op, { ...partFor(change), id })
    if (row) return unchanged(id)
    const create = commandNamed(`${op}.create`)!
    const hasAuthor = columnsOf(definitionOf(op).table).some(({ key }) => key === 'importedAuthor')
    const origin = { createdAt, importedAuthor: hasAuthor ? importedAuthor : undefined }
    // Without the id, because the command rejects the id of a deleted row.
    const input = { op, ...origin, ...partFor(create), taskId }
    return this.create(input, { ...partFor(create, false), id })
  }

  /** @param own values that the command does not accept */
  private create({ op, createdAt, importedAuthor, ...values }: NewRow, own: Values = {}): Decided {
    const place = values.taskId ? {} : { projectId: this.state.projectId }
    const [change] = this.decide(`${op}.create`, { ...values, ...place })
    const author = importedAuthor && { importedAuthor: importedAuthor.trim() }
    const at = createdAt ? parseInstant(createdAt) : this.context.now
    if (!at) throw badRequest('createdAt must be an ISO 8601 date-time with offset, or a date')
    const { id } = Object.assign(change!.after!, { createdAt: at }, author, own) as { id: string }
    return { outcome: 'created', id, changes: [Object.assign(change!, { entityId: id })] }
  }

  private update(op: string, input: Values & { id: string }): Decided {
    const changes = this.decide(`${op}.update`, input)
    return changes.length > 0 ? { outcome: 'updated', id: input.id, changes } : unchanged(input.id)
  }

  private decide(name: string, input: Values): EventDraft[] {
    const command = commandNamed(name)!
    command.check ??= TypeCompiler.Compile(command.input)
    if (!command.check.Check(input)) throw validationError(command.check.Errors(input))
    return decide(command, this.state, this.context, input as never).changes
  }

  /** Responses and exports hide values that do not fit their field, so an import does not clear these values. */
  private withoutHidden(id: string, given: NonNullable<Operation<'task'>['fields']>) {
    const stored = this.state.requireRow('task', id).fields ?? {}
    const fields = this.state.all('field')
    const isHidden = (key: string) =>
      !fitsField(
        fields.find((one) => one.key === key)!,
        stored[key],
      )
    return Object.fromEntries(
      Object.entries(given).filter(([key, value]) => value !== null || !isHidden(key)),
    )
  }
}

type NewRow = Pick<Operation<'task'>, 'createdAt' | 'importedAuthor'> & { op: string; taskId?: string }
