import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { Role } from '../identity/rights.ts'
import { nilId } from '../ids.ts'
import { type Children, eachOf } from '../log/children.ts'
import { rowAfter } from '../log/rows.ts'
import { parentKeys } from '../model/definition.ts'
import type { Entity, StoredRows } from '../model/entities.ts'
import type { EventDraft } from '../model/events.ts'
import { definitionOf, lengthOf, model } from '../model/model.ts'
import { notFound } from '../responses/errors.ts'
import type { Demanded, Preload } from './preload.ts'
import { Overlay } from './overlay.ts'

type Row = { id: string }

/** What it takes to remember the id of a deleted row. */
const goneBytes = 100

/** About how many bytes of memory a row takes: fields and map entries about 700 (measured), texts two a character. */
const weigh = (entity: Entity, row: object | null): number => 700 + (row ? 2 * lengthOf(entity, row) : 0)

/** A project at one version, as rules read it. Rows that no command named may be missing. */
export type ProjectState = Readonly<Omit<State, 'put' | 'drop' | 'forgetRows' | 'forgetDemanded'>>

/** A project in memory, kept between commits. A row that is null is known to be absent. */
export class State {
  project: ProjectRow | null = null
  memberCount = 0
  /** The last event there was when it was loaded, and when that was (performance.now()): what came since, came of this state. */
  readonly loaded: { eventId: string; at: number }
  /** The children of the task that is about to move to another project; null for every other command. */
  leaving: Children | null = null
  /** Present while the rows are here that a batch loads on demand. */
  demanded: Demanded | null = null
  private readonly rows: Partial<Record<Entity, Overlay<Row>>> = {}
  /** The ids of rows that were deleted meanwhile: a search of the log may have come before the deletion. */
  private readonly gone: Overlay<true>
  private readonly byUser: Overlay<MemberRow>
  private rowBytes = 0
  private keptBytes = 0

  /** @param lastEventId the event that made the version: the latest id in the project */
  constructor(
    readonly projectId: string,
    public version = 0,
    public lastNumber = 0,
    public lastEventId = nilId,
    private readonly below?: State,
  ) {
    this.loaded = below?.loaded ?? { eventId: lastEventId, at: performance.now() }
    this.gone = new Overlay(below?.gone)
    this.byUser = new Overlay(below?.byUser)
  }

  /** A state to try changes on, which go with it. While it is in use this one must stay as it is. */
  fork(): State {
    const fork = new State(this.projectId, this.version, this.lastNumber, this.lastEventId, this)
    fork.project = this.project
    fork.memberCount = this.memberCount
    fork.rowBytes = this.rowBytes
    fork.keptBytes = this.keptBytes
    fork.leaving = this.leaving
    fork.demanded = this.demanded
    return fork
  }

  get bytes(): number {
    const known = this.rowBytes + this.keptBytes
    return this.leaving
      ? eachOf(this.leaving).reduce((sum, [entity, row]) => sum + weigh(entity, row), known)
      : known
  }

  memberOf(userId: string): MemberRow | undefined {
    return this.byUser.get(userId) ?? undefined
  }

  row<E extends Entity>(entity: E, id: string): StoredRows[E] | undefined {
    if (entity === 'project' && this.project?.id === id) return this.project as unknown as StoredRows[E]
    return (this.rowsOf(entity).get(id) ?? undefined) as StoredRows[E] | undefined
  }

  /** A row that must be here. @throws HttpError 404 */
  present<E extends Entity>(entity: E, id: string): StoredRows[E] {
    const row = this.row(entity, id)
    if (!row) throw notFound(definitionOf(entity).noun)
    return row
  }

  /** All rows of an entity that is loaded with the project, or on demand. */
  all<E extends Entity>(entity: E): StoredRows[E][] {
    return this.rowsOf(entity).values() as StoredRows[E][]
  }

  private rowsOf(entity: Entity): Overlay<Row> {
    return (this.rows[entity] ??= new Overlay(this.below?.rowsOf(entity)))
  }

  knowsAll(needs: Preload | undefined): boolean {
    if (!needs) return true
    if (needs.leaving || needs.past || needs.integrations) return false // loaded each time
    return model().byRow.every((entity) => needs[entity]?.every((id) => this.knows(entity, id)) ?? true)
  }

  /** True when the row is here, or known to be absent. */
  knows(entity: Entity, id: string): boolean {
    return this.rowsOf(entity).get(id) !== undefined
  }

  has(id: string): boolean {
    return model().names.some((name) => this.row(name, id) !== undefined) || this.gone.get(id) === true
  }

  /** The user's role; null for a stranger, and in a deleted project. */
  roleOf(userId: string): Role | null {
    if (!this.project) return null
    return this.project.ownerId === userId ? 'OWNER' : (this.byUser.get(userId)?.role ?? null)
  }

  put(entity: Entity, id: string, row: Row | null): void {
    if (entity === 'project') {
      this.project = row as ProjectRow | null
      return
    }
    const { load } = definitionOf(entity)
    if (load === 'on demand' && !this.demanded) return
    const rows = this.rowsOf(entity)
    const old = rows.get(id)
    if (load === 'by row') this.rowBytes += weigh(entity, row) - (old === undefined ? 0 : weigh(entity, old))
    else this.keptBytes += (row ? weigh(entity, row) : 0) - (old ? weigh(entity, old) : 0)
    if (row || load === 'by row') rows.set(id, row)
    else rows.delete(id)
    if (entity === 'member') this.putMember(old as MemberRow | undefined, row as MemberRow | null)
  }

  /** Deletes a row for good: its id is not given again. */
  drop(entity: Entity, id: string): void {
    this.put(entity, id, null)
    this.gone.set(id, true)
    this.rowBytes += goneBytes
    for (const { name, parent, load } of model().all) {
      if (load !== 'on demand' || parent !== entity) continue
      const key = parentKeys[parent] as 'id'
      for (const row of this.all(name)) if (row[key] === id) this.put(name, row.id, null)
    }
  }

  /** Drops the rows, which can be loaded again; the project and its members stay. */
  forgetRows(): void {
    for (const entity of model().byRow) this.rowsOf(entity).clear()
    this.gone.clear()
    this.rowBytes = 0
    this.leaving = null
  }

  /** Drops what was loaded for one batch. */
  forgetDemanded(): void {
    if (!this.demanded) return
    for (const { name, load } of model().all)
      if (load === 'on demand') for (const { id } of this.all(name)) this.put(name, id, null)
    this.demanded = null
  }

  private putMember(old: MemberRow | null | undefined, row: MemberRow | null): void {
    if (old) this.byUser.delete(old.userId)
    if (row) this.byUser.set(row.userId, row)
    this.memberCount += (row ? 1 : 0) - (old ? 1 : 0)
  }
}

/**
 * Applies one change: the state takes the next version, and the row as the change leaves it. Modifies the given state and
 * returns it. The only way a state changes.
 */
export function evolve(state: State, change: EventDraft): State {
  const { type, entity, entityId, untold } = change
  state.version++
  state.lastEventId = change.id
  // Its subtasks and comments may have changed while the task lived in another project.
  if (type === 'task.moved_in') state.forgetRows()
  if (type === 'task.moved_out') state.leaving = null
  const after = rowAfter(change)
  if (after)
    state.put(entity, entityId, untold ? { ...state.row(entity, entityId), ...after, ...untold } : after)
  else state.drop(entity, entityId)
  const number = entity === 'task' ? (after as StoredRows['task'] | null)?.number : undefined
  if (number !== undefined && number > state.lastNumber) state.lastNumber = number
  return state
}
