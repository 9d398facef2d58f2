import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { requireMatch } from '../responses/if-match.ts'
import type { ProjectState } from '../actor/state.ts'
import type { Role } from '../identity/rights.ts'
import { type Decision, created, type EventDraft, diff, deleted, updated } from '../model/events.ts'
import { type EntityDefinition, parentKeys } from '../model/definition.ts'
import type { Entity, EventType, Rows } from '../model/entities.ts'
import { isIdInAnyCase } from '../id-format.ts'
import { invalid, idTaken, type HttpError } from '../responses/errors.ts'
import { type Target, atRow, command, type Command, type RuleContext } from './command.ts'
import { newRowId, tooManyRows } from './decide.ts'
import { IdOf, Input, withoutNull } from '../schema/input.ts'

interface RowCommand<Given> {
  about?: string
  role: Role | null
  errors?: HttpError[]
  person?: Command<object & Given>['person']
}

/**
 * Returns a check of the ids in an input that neither select the target nor are references, because nothing else loads
 * the rows with these ids. It throws an HttpError 400.
 */
function idCheck<E extends Entity>({ references = {} }: EntityDefinition<E>, { properties }: TObject) {
  const targets = ['id', ...Object.values(parentKeys), ...Object.keys(references)]
  const names = Object.entries<TSchema>(properties).flatMap(([name, schema]) =>
    withoutNull(schema).format === 'uuid' && !targets.includes(name) ? [name] : [],
  )
  return (input: object) => {
    for (const name of names) {
      const value = (input as Record<string, unknown>)[name]
      if (value != null && !isIdInAnyCase(value)) throw invalid(name, 'must be an id')
    }
  }
}

type Fields<E extends Entity> = Omit<Rows[E], 'id' | 'eventId'>

interface Creation<E extends Entity, S extends TObject> extends RowCommand<Static<S>> {
  input: S
  target: Target
  path: string
  fields(input: Static<S>, context: RuleContext, state: ProjectState): Fields<E>
}

export function creation<E extends Entity, S extends TObject>(
  entity: EntityDefinition<E>,
  { fields, path, errors = [], ...definition }: Creation<E, S>,
) {
  const { name, view, plural, maxRows } = entity
  const checkIds = idCheck(entity, definition.input)
  return command<S, Rows[E]>(`${name}.create`, {
    ...definition,
    acceptsClientId: true,
    decide(state, context, input) {
      checkIds(input)
      const isProject = definition.target.kind === 'new'
      if (isProject && state.version > 0) throw idTaken()
      const id = newRowId(state, context, isProject ? state.projectId : (input as { id?: string }).id)
      const row = { id, ...fields(input, context, state) }
      return decisionOf<E>(created(state, context, typeOf(name, 'created'), row as never))
    },
    view,
    status: 201,
    errors: [idTaken(), ...errors, ...(maxRows ? [tooManyRows({ maxRows, plural })] : [])],
    location: (id) => `${path}/${id}`,
  })
}

interface Update<E extends Entity, S extends TObject> extends RowCommand<Static<S>> {
  input: S
  /** The verbs of the command and its event. Default: `update` and `updated`. */
  verbs?: [command: string, event: string]
  /** Returns the new values; undefined means no change. @throws HttpError */
  fields(input: Static<S>, context: RuleContext, row: Rows[E], state: ProjectState): Partial<Fields<E>>
}

/** Without a changed value, the command writes no event. */
export function update<E extends Entity, S extends TObject>(
  entity: EntityDefinition<E>,
  { fields, verbs: [verb, event] = ['update', 'updated'], ...definition }: Update<E, S>,
) {
  const { name, view } = entity
  const checkIds = idCheck(entity, definition.input)
  return command<S, Rows[E]>(`${name}.${verb}`, {
    ...definition,
    target: atRow(name),
    decide(state, context, input) {
      checkIds(input)
      const row = state.requireRow(name, (input as { id: string }).id) as Rows[E]
      const wanted = fields(input, context, row, state)
      requireMatch(context, row)
      const changes = diff<Partial<Fields<E>>>(row, wanted)
      if (!changes) return { changes: [], answer: row }
      const stamp = 'updatedAt' in row ? { updatedAt: context.now } : {}
      return decisionOf<E>(
        updated(state, context, typeOf(name, event), row as never, { ...changes, ...stamp }),
      )
    },
    view,
  })
}

interface Deletion<E extends Entity> extends RowCommand<{ id: string }> {
  check?(row: Rows[E], context: RuleContext, state: ProjectState): void
}

export const deletion = <E extends Entity>(
  { name, noun }: EntityDefinition<E>,
  { check, ...definition }: Deletion<E>,
) =>
  command(`${name}.delete`, {
    ...definition,
    input: Input({ id: IdOf(name) }),
    target: atRow(name),
    decide(state, context, { id }) {
      const row = state.requireRow(name, id) as Rows[E]
      check?.(row, context, state)
      requireMatch(context, row)
      const change = deleted(state, context, typeOf(name, 'deleted'), row as never)
      return { changes: [change as EventDraft], answer: undefined }
    },
    message: `${noun} deleted successfully`,
  })

const typeOf = (entity: Entity, verb: string) => `${entity}.${verb}` as EventType

const decisionOf = <E extends Entity>(change: { after: object }): Decision<Rows[E]> => ({
  changes: [change as EventDraft],
  answer: change.after as Rows[E],
})
