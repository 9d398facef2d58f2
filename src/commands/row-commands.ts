import type { Static, TObject } from '@sinclair/typebox'
import { requireMatch } from '../responses/if-match.ts'
import type { ProjectState } from '../actor/state.ts'
import type { Role } from '../identity/rights.ts'
import type { Decision } from '../log/rule.ts'
import type { Definition } from '../model/definition.ts'
import type { Entity, EventType, Rows } from '../model/entities.ts'
import { appeared, type EventDraft, differing, removed, updated } from '../model/events.ts'
import { idTaken, type HttpError } from '../responses/errors.ts'
import { type Target, atRow, command, type Command, type RuleContext } from './command.ts'
import { idFor } from './decide.ts'
import { IdOf, Input } from '../schema/input.ts'

// The commands that most entities have: to create, update and delete a row.

interface RowCommand<Given> {
  about?: string
  role: Role | 'nobody'
  errors?: HttpError[]
  person?: Command<object & Given>['person']
}

type Fields<E extends Entity> = Omit<Rows[E], 'id' | 'eventId'>

interface Creation<E extends Entity, S extends TObject> extends RowCommand<Static<S>> {
  input: S
  target: Target
  path: string
  fields(input: Static<S>, known: RuleContext, state: ProjectState): Fields<E>
}

/** The command that creates a row. Its input has an optional `id`, that of the client. */
export const creation = <E extends Entity, S extends TObject>(
  { name, view }: Definition<E>,
  { fields, path, errors = [], ...definition }: Creation<E, S>,
) =>
  command<S, Rows[E]>(`${name}.create`, {
    ...definition,
    takesOwnId: true,
    decide(state, known, input) {
      const isProject = definition.target.kind === 'new'
      if (isProject && state.version > 0) throw idTaken()
      const id = idFor(state, known, isProject ? state.projectId : (input as { id?: string }).id)
      const row = { id, ...fields(input, known, state) }
      return changing<E>(appeared(state, known, typeOf(name, 'created'), row as never))
    },
    view,
    status: 201,
    errors: [...errors, idTaken()],
    location: (id) => `${path}/${id}`,
  })

interface Update<E extends Entity, S extends TObject> extends RowCommand<Static<S>> {
  input: S
  /** Of the command and its event, unless it is an update. */
  verbs?: [command: string, event: string]
  /** The wanted fields; undefined keeps a field. @throws HttpError */
  fields(input: Static<S>, known: RuleContext, row: Rows[E]): Partial<Fields<E>>
}

/** The command that changes the fields of a row that are wanted otherwise. */
export const update = <E extends Entity, S extends TObject>(
  { name, view }: Definition<E>,
  { fields, verbs: [verb, event] = ['update', 'updated'], ...definition }: Update<E, S>,
) =>
  command<S, Rows[E]>(`${name}.${verb}`, {
    ...definition,
    target: atRow(name),
    decide(state, known, input) {
      const row = state.present(name, (input as { id: string }).id) as Rows[E]
      const wanted = fields(input, known, row)
      requireMatch(known, row)
      const others = differing<Partial<Fields<E>>>(row, wanted)
      if (!others) return { changes: [], answer: row }
      const stamp = 'updatedAt' in row ? { updatedAt: known.now } : {}
      return changing<E>(updated(state, known, typeOf(name, event), row as never, { ...others, ...stamp }))
    },
    view,
  })

interface Deletion<E extends Entity> extends RowCommand<{ id: string }> {
  /** @throws HttpError when the caller may not delete this row */
  check?(row: Rows[E], known: RuleContext, state: ProjectState): void
}

export const deletion = <E extends Entity>(
  { name, noun }: Definition<E>,
  { check, ...definition }: Deletion<E>,
) =>
  command(`${name}.delete`, {
    ...definition,
    input: Input({ id: IdOf(name) }),
    target: atRow(name),
    decide(state, known, { id }) {
      const row = state.present(name, id) as Rows[E]
      check?.(row, known, state)
      requireMatch(known, row)
      const change = removed(state, known, typeOf(name, 'deleted'), row as never)
      return { changes: [change as EventDraft], answer: undefined }
    },
    message: `${noun} deleted successfully`,
  })

const typeOf = (entity: Entity, verb: string) => `${entity}.${verb}` as EventType

const changing = <E extends Entity>(change: { after: object }): Decision<Rows[E]> => ({
  changes: [change as EventDraft],
  answer: change.after as Rows[E],
})
