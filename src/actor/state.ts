import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { Role } from '../identity/rights.ts'
import { isId, nilId } from '../id-format.ts'
import { parentKeys, type Fact, type FactKind } from '../model/definition.ts'
import type { Entity, StoredRows } from '../model/entities.ts'
import type { EventDraft } from '../model/events.ts'
import { definitionOf, model, rowAfter, textLength } from '../model/model.ts'
import type { Person } from '../reads/people.ts'
import { notFound } from '../responses/errors.ts'

type Row = { id: string }

/** A project at one version, as rules read it. Contains only the rows that commands preloaded. */
export type ProjectState = Readonly<
  Omit<State, 'put' | 'drop' | 'apply' | 'setInProject' | 'unloadRows' | 'unloadFacts'>
>

/** The approximate memory of the id of a row that is not loaded. */
const idBytes = 100

/** The approximate memory of a row: 700 bytes for fields and map entries (measured), and 2 bytes per character. */
const bytesOf = (entity: Entity, row: object | null): number => 700 + (row ? 2 * textLength(entity, row) : 0)

/** A project in memory, kept between commits. Null stands for a row that does not exist. */
export class State {
  project: ProjectRow | null = null
  /** The id of the project's last event when this state was loaded, and the time of the load. */
  readonly loaded: { eventId: string; at: number }
  readonly facts = new Map<FactKind<never, never>, Fact>()
  /** The accounts that hold claims on loaded tasks. Valid for one group, because a name may change without an event. */
  readonly people: Map<string, Person>
  private readonly rows: Partial<Record<Entity, CopyOnWriteMap<Row>>> = {}
  /** Ids of rows deleted since the load. A new row must not reuse these ids. */
  private deletedIds: CopyOnWriteMap<true>
  /** Whether referenced tasks are in the project. If the row of a task is loaded or changed, the row decides instead. */
  private tasksInProject: CopyOnWriteMap<boolean>
  private readonly byUser: CopyOnWriteMap<MemberRow>
  private rowBytes = 0
  private projectBytes = 0

  /** @param lastEventId the event whose seq is `version` */
  constructor(
    readonly projectId: string,
    public version = 0,
    public lastNumber = 0,
    public lastEventId = nilId,
    private readonly base?: State,
  ) {
    this.people = base?.people ?? new Map()
    this.loaded = base?.loaded ?? { eventId: lastEventId, at: performance.now() }
    this.deletedIds = new CopyOnWriteMap(base?.deletedIds)
    this.tasksInProject = new CopyOnWriteMap(base?.tasksInProject)
    this.byUser = new CopyOnWriteMap(base?.byUser)
  }

  /** A copy on which changes can be tried. This state must not change while the copy is in use. */
  fork(): State {
    const fork = new State(this.projectId, this.version, this.lastNumber, this.lastEventId, this)
    fork.project = this.project
    fork.rowBytes = this.rowBytes
    fork.projectBytes = this.projectBytes
    for (const [kind, fact] of this.facts) fork.facts.set(kind, fact.fork?.() ?? fact)
    return fork
  }

  get bytes(): number {
    return this.rowBytes + this.projectBytes
  }

  /** @throws Error if no command of the group preloads facts of this kind */
  fact<F extends Fact>(kind: FactKind<F, never>): F {
    const fact = this.facts.get(kind as never)
    if (!fact) throw new Error('A fact is not loaded: the command must preload it')
    return fact as F
  }

  memberOf(userId: string): MemberRow | undefined {
    return this.byUser.get(userId) ?? undefined
  }

  row<E extends Entity>(entity: E, id: string): StoredRows[E] | undefined {
    if (entity === 'project' && this.project?.id === id) return this.project as unknown as StoredRows[E]
    return (this.rowsOf(entity).get(id) ?? undefined) as StoredRows[E] | undefined
  }

  /** True if the project contains the row. @throws Error for a task if nothing is known about it */
  has(entity: Entity, id: string): boolean {
    const row = this.rowsOf(entity).get(id) as { projectId?: string } | null | undefined
    if (entity !== 'task' || row !== undefined)
      return row != null && (row.projectId ?? this.projectId) === this.projectId
    const isInProject = isId(id) && this.tasksInProject.get(id)
    if (isInProject === undefined) throw new Error('A referenced task is not loaded')
    return isInProject === true
  }

  requireRow<E extends Entity>(entity: E, id: string): StoredRows[E] {
    const row = this.row(entity, id)
    if (!row) throw notFound(definitionOf(entity).noun)
    return row
  }

  all<E extends Entity>(entity: E): StoredRows[E][] {
    return this.rowsOf(entity).values() as StoredRows[E][]
  }

  private rowsOf(entity: Entity): CopyOnWriteMap<Row> {
    return (this.rows[entity] ??= new CopyOnWriteMap(this.base?.rowsOf(entity)))
  }

  /** True if it is known for each task whether the project contains the task. */
  knowsAll(taskIds: string[]): boolean {
    return taskIds.every((id) => this.isLoaded('task', id) || this.tasksInProject.get(id) !== undefined)
  }

  setInProject(taskId: string, isInProject: boolean): void {
    this.tasksInProject.set(taskId, isInProject)
    this.rowBytes += idBytes
  }

  /** True if the row is loaded, or is known not to exist. */
  isLoaded(entity: Entity, id: string): boolean {
    return this.rowsOf(entity).get(id) !== undefined
  }

  hasId(id: string): boolean {
    return model().names.some((name) => this.row(name, id) !== undefined) || this.deletedIds.get(id) === true
  }

  roleOf(userId: string): Role | null {
    if (!this.project) return null
    return this.project.ownerId === userId ? 'OWNER' : (this.byUser.get(userId)?.role ?? null)
  }

  put(entity: Entity, id: string, row: Row | null): void {
    if (entity === 'project') return void (this.project = row as ProjectRow | null)
    const { load } = definitionOf(entity)
    if (load === 'on demand' && this.facts.size === 0) return
    const rows = this.rowsOf(entity)
    const old = rows.get(id)
    if (load === 'by row')
      this.rowBytes += bytesOf(entity, row) - (old === undefined ? 0 : bytesOf(entity, old))
    else this.projectBytes += (row ? bytesOf(entity, row) : 0) - (old ? bytesOf(entity, old) : 0)
    if (row || load === 'by row') rows.set(id, row)
    else rows.delete(id)
    if (entity !== 'member') return
    if (old) this.byUser.delete((old as MemberRow).userId)
    if (row) this.byUser.set((row as MemberRow).userId, row as MemberRow)
  }

  drop(entity: Entity, id: string): void {
    this.put(entity, id, null)
    this.deletedIds.set(id, true)
    this.rowBytes += idBytes
    for (const { name, parent, load } of model().all) {
      if (load !== 'on demand' || parent !== entity) continue
      const key = parentKeys[parent] as 'id'
      for (const row of this.all(name)) if (row[key] === id) this.put(name, row.id, null)
    }
  }

  unloadRows(): void {
    for (const entity of model().byRow) this.rows[entity] = new CopyOnWriteMap()
    this.deletedIds = new CopyOnWriteMap()
    this.tasksInProject = new CopyOnWriteMap()
    this.rowBytes = 0
  }

  /** Drops the facts, and the rows that they loaded. */
  unloadFacts(): void {
    this.people.clear()
    if (this.facts.size === 0) return
    for (const { name, load } of model().all)
      if (load === 'on demand') for (const { id } of this.all(name)) this.put(name, id, null)
    this.facts.clear()
  }

  apply(change: EventDraft): void {
    const { type, entity, entityId, unlogged } = change
    this.version++
    this.lastEventId = change.id
    // The task's subtasks and comments may have changed in the other project.
    if (type === 'task.moved_in') this.unloadRows()
    const after = rowAfter(change)
    if (after)
      this.put(entity, entityId, unlogged ? { ...this.row(entity, entityId), ...after, ...unlogged } : after)
    else this.drop(entity, entityId)
    if (this.facts.size > 0) for (const fact of this.facts.values()) fact.apply?.(change)
    const number = entity === 'task' ? (after as StoredRows['task'] | null)?.number : undefined
    if (number !== undefined && number > this.lastNumber) this.lastNumber = number
  }
}

/** A map whose copy costs the same for every size: the copy stores only its changes, and reads the rest from its base. */
class CopyOnWriteMap<V> {
  private readonly changes = new Map<string, V | null>()

  constructor(private readonly base?: CopyOnWriteMap<V>) {}

  /** Null for a value that is known to be absent, undefined if nothing is known. */
  get(key: string): V | null | undefined {
    const value = this.changes.get(key)
    return value === undefined && this.base ? this.base.get(key) : value
  }

  set(key: string, value: V | null): void {
    this.changes.set(key, value)
  }

  delete(key: string): void {
    if (this.base) this.changes.set(key, null)
    else this.changes.delete(key)
  }

  values(): V[] {
    return [...this.entries().values()].filter((value) => value !== null)
  }

  private entries(): Map<string, V | null> {
    return this.base ? new Map([...this.base.entries(), ...this.changes]) : this.changes
  }
}
