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
  Omit<State, 'put' | 'drop' | 'apply' | 'setInProject' | 'unloadFacts' | 'unloadRows'>
>

/** The approximate memory of the id of a row that is not loaded. */
const idBytes = 100

/** The approximate memory of a row: 700 bytes for fields and map entries (measured), and 2 bytes per character. */
const bytesOf = (entity: Entity, row: object | null | undefined): number =>
  row === undefined ? 0 : 700 + (row ? 2 * textLength(entity, row) : 0)

/** A project in memory, kept between commits. Null stands for a row that does not exist. */
export class State {
  project: ProjectRow | null = null
  /** The id of the project's last event when this state was loaded, and the time of the load. */
  readonly loaded: { eventId: string; at: number }
  readonly facts = new Map<FactKind<never, never>, Fact>()
  /** The accounts that hold claims on loaded tasks. Valid for one group, because a name may change without an event. */
  readonly people: Map<string, Person>
  private readonly rows: Partial<Record<Entity, Map<string, Row | null>>> = {}
  /** Ids of rows deleted since the load, or since `unloadRows`. A new row must not reuse these ids. */
  private readonly deletedIds: Set<string>
  /** Whether referenced tasks are in the project. If the row of a task is loaded or changed, the row decides instead. */
  private readonly tasksInProject: Map<string, boolean>
  private readonly byUser: Map<string, MemberRow>
  /** The approximate memory of the rows. */
  bytes = 0

  /** @param lastEventId the event whose seq is `version` */
  constructor(
    readonly projectId: string,
    public version = 0,
    public lastNumber = 0,
    public lastEventId = nilId,
    base?: State,
  ) {
    this.people = base?.people ?? new Map()
    this.loaded = base?.loaded ?? { eventId: lastEventId, at: performance.now() }
    this.deletedIds = new Set(base?.deletedIds)
    this.tasksInProject = new Map(base?.tasksInProject)
    this.byUser = new Map(base?.byUser)
  }

  /** A copy on which changes can be tried. */
  fork(): State {
    const fork = new State(this.projectId, this.version, this.lastNumber, this.lastEventId, this)
    fork.project = this.project
    fork.bytes = this.bytes
    for (const [entity, rows] of Object.entries(this.rows)) fork.rows[entity as Entity] = new Map(rows)
    for (const [kind, fact] of this.facts) fork.facts.set(kind, kind.copy?.(fact as never) ?? fact)
    return fork
  }

  /** @throws Error if no command of the group preloads facts of this kind */
  fact<F extends Fact>(kind: FactKind<F, never>): F {
    const fact = this.facts.get(kind as never)
    if (!fact) throw new Error('A fact is not loaded: the command must preload it')
    return fact as F
  }

  memberOf(userId: string): MemberRow | undefined {
    return this.byUser.get(userId)
  }

  row<E extends Entity>(entity: E, id: string): StoredRows[E] | undefined {
    if (entity === 'project' && this.project?.id === id) return this.project as unknown as StoredRows[E]
    return (this.rowsOf(entity).get(id) ?? undefined) as StoredRows[E] | undefined
  }

  /** True if the project contains the row. @throws Error for a task if nothing is known about it */
  has(entity: Entity, id: string): boolean {
    const row = this.rowsOf(entity).get(id) as { projectId?: string } | null | undefined
    if (entity !== 'task' || row !== undefined || !isId(id))
      return row != null && (row.projectId ?? this.projectId) === this.projectId
    const isInProject = this.tasksInProject.get(id)
    if (isInProject === undefined) throw new Error('A referenced task is not loaded')
    return isInProject
  }

  requireRow<E extends Entity>(entity: E, id: string): StoredRows[E] {
    const row = this.row(entity, id)
    if (!row) throw notFound(definitionOf(entity).noun)
    return row
  }

  all<E extends Entity>(entity: E): StoredRows[E][] {
    return [...this.rowsOf(entity).values()].filter((row) => row !== null) as StoredRows[E][]
  }

  private rowsOf(entity: Entity): Map<string, Row | null> {
    return (this.rows[entity] ??= new Map())
  }

  /** True if the row is loaded, or is known not to exist. */
  isLoaded(entity: Entity, id: string): boolean {
    return this.rowsOf(entity).get(id) !== undefined
  }

  /** True if it is known whether the project contains the task. */
  knowsTask(id: string): boolean {
    return this.isLoaded('task', id) || this.tasksInProject.has(id)
  }

  setInProject(taskId: string, isInProject: boolean): void {
    this.tasksInProject.set(taskId, isInProject)
    this.bytes += idBytes
  }

  hasId(id: string): boolean {
    return model().names.some((name) => this.row(name, id) !== undefined) || this.deletedIds.has(id)
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
    const kept = row ?? (load === 'by row' ? null : undefined)
    this.bytes += bytesOf(entity, kept) - bytesOf(entity, old)
    if (kept === undefined) rows.delete(id)
    else rows.set(id, kept)
    if (entity !== 'member') return
    if (old) this.byUser.delete((old as MemberRow).userId)
    if (row) this.byUser.set((row as MemberRow).userId, row as MemberRow)
  }

  drop(entity: Entity, id: string): void {
    this.put(entity, id, null)
    if (!this.deletedIds.has(id)) this.bytes += idBytes
    this.deletedIds.add(id)
    for (const { name, parent, load } of model().all) {
      if (load !== 'on demand' || parent !== entity) continue
      const key = parentKeys[parent] as 'id'
      for (const row of this.all(name)) if (row[key] === id) this.put(name, row.id, null)
    }
  }

  /** Drops the facts, and the rows that they loaded. */
  unloadFacts(): void {
    this.people.clear()
    if (this.facts.size === 0) return
    for (const { name, load } of model().all)
      if (load === 'on demand') for (const { id } of this.all(name)) this.put(name, id, null)
    this.facts.clear()
  }

  /**
   * Drops the rows that commands loaded or wrote one by one, such as tasks, and the ids of deleted rows. Returns the freed
   * memory in bytes.
   */
  unloadRows(): number {
    let freed = idBytes * (this.tasksInProject.size + this.deletedIds.size)
    this.tasksInProject.clear()
    this.deletedIds.clear()
    for (const { name, load } of model().all) {
      if (load !== 'by row') continue
      for (const row of this.rowsOf(name).values()) freed += bytesOf(name, row)
      delete this.rows[name]
    }
    this.bytes -= freed
    return freed
  }

  apply(change: EventDraft): void {
    const { entity, entityId, unlogged } = change
    this.version++
    this.lastEventId = change.id
    const after = rowAfter(change)
    if (after)
      this.put(entity, entityId, unlogged ? { ...this.row(entity, entityId), ...after, ...unlogged } : after)
    else this.drop(entity, entityId)
    if (this.facts.size > 0) for (const [kind, fact] of this.facts) kind.apply?.(fact as never, change)
    const number = entity === 'task' ? (after as StoredRows['task'] | null)?.number : undefined
    if (number !== undefined && number > this.lastNumber) this.lastNumber = number
  }
}
