import { type Entity, type Loadable, loadable, type Rows } from '../../drizzle/entities.ts'
import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { Role } from '../identity/roles.ts'
import { notFound } from '../wire/refusals.ts'
import { nilId } from '../ids.ts'
import type { Children } from '../facts/children.ts'
import type { Change } from '../facts/facts.ts'
import type { AskedOfLog } from '../facts/past.ts'
import { rowAfter } from '../facts/rows.ts'
import type { Integrations, WantedIntegrations } from '../facts/integrations.ts'
import { goneBytes, weigh } from '../facts/weigh.ts'
import { Overlay } from './overlay.ts'

type Row = Rows[Entity]
type RowMaps = Record<Loadable, Overlay<Row>>

/** The ids of the rows a command wants to see. */
export type Needs = Partial<Record<Loadable, string[]>> & {
  /** The task that goes to another project: what hangs on it is loaded too. */
  leaving?: string
  /** Events that it asks of the log; the rows that they are about are loaded too. */
  past?: AskedOfLog
  /** Webhooks, service accounts and tokens to load. */
  integrations?: WantedIntegrations[]
}

/** What rules read: a project at one version. Rows a command did not name may be missing. */
export interface ProjectState {
  readonly projectId: string
  readonly version: number
  readonly lastNumber: number
  /** The event that made the version; the latest id in the project. */
  readonly lastEventId: string
  readonly project: ProjectRow | null
  member(id: string): MemberRow | undefined
  memberOf(userId: string): MemberRow | undefined
  readonly memberCount: number
  row<E extends Loadable>(entity: E, id: string): Rows[E] | undefined
  /** A row that must be here. @throws Refusal 404 */
  present<E extends Loadable>(entity: E, id: string): Rows[E]
  /** Whether anything that is known to be here, or to have gone from here, has this id. */
  has(id: string): boolean
  /** What the user is here; null for a stranger and in a project that is gone. */
  roleOf(userId: string): Role | null
  /** What hangs on the task that is about to go to another project, as it is now; null for every other command. */
  readonly leaving: Children | null
  /** What the commands of the batch asked for; null where none did. */
  readonly integrations: Integrations | null
  /** A state to try facts on, which go with it. While it is in use this one must stay as it is. */
  fork(): State
}

/** The facts of a project that rules decide on, warm between commits. A row that is null is known to be absent. */
export class State implements ProjectState {
  project: ProjectRow | null = null
  memberCount = 0
  /** The last event there was when it was loaded, and when that was (performance.now()): what came since, came of this state. */
  readonly loaded: { eventId: string; at: number }
  leaving: Children | null = null
  integrations: Integrations | null = null
  private readonly rows: RowMaps
  /** The ids of what went while the rows were kept: who looked for them in the log may have looked before that. */
  private readonly gone: Overlay<true>
  private readonly members: Overlay<MemberRow>
  private readonly byUser: Overlay<MemberRow>
  private rowBytes = 0
  private memberBytes = 0

  constructor(
    readonly projectId: string,
    public version = 0,
    public lastNumber = 0,
    public lastEventId = nilId,
    below?: State,
  ) {
    this.loaded = below?.loaded ?? { eventId: lastEventId, at: performance.now() }
    const over = (entity: Loadable) => [entity, new Overlay<Row>(below?.rows[entity])]
    this.rows = Object.fromEntries(loadable.map(over)) as RowMaps
    this.gone = new Overlay(below?.gone)
    this.members = new Overlay(below?.members)
    this.byUser = new Overlay(below?.byUser)
  }

  fork(): State {
    const fork = new State(this.projectId, this.version, this.lastNumber, this.lastEventId, this)
    fork.project = this.project
    fork.memberCount = this.memberCount
    fork.rowBytes = this.rowBytes
    fork.memberBytes = this.memberBytes
    fork.leaving = this.leaving
    fork.integrations = this.integrations && this.integrations.fork()
    return fork
  }

  /** About how much memory the rows and members take. */
  get bytes() {
    const { subtasks = [], comments = [] } = this.leaving ?? {}
    const leavingBytes = [...subtasks, ...comments].reduce((sum, row) => sum + weigh(row), 0)
    return this.rowBytes + this.memberBytes + leavingBytes
  }

  member(id: string) {
    return this.members.get(id) ?? undefined
  }

  memberOf(userId: string) {
    return this.byUser.get(userId) ?? undefined
  }

  row<E extends Loadable>(entity: E, id: string) {
    return (this.rows[entity].get(id) ?? undefined) as Rows[E] | undefined
  }

  present<E extends Loadable>(entity: E, id: string) {
    const row = this.row(entity, id)
    if (!row) throw notFound(entity.charAt(0).toUpperCase() + entity.slice(1))
    return row
  }

  /** True when nothing that a command needs has to be loaded first. */
  knowsAll(needs: Needs | undefined): boolean {
    if (!needs) return true
    if (needs.leaving || needs.past || needs.integrations) return false // asked for each time
    for (const entity of loadable) {
      for (const id of needs[entity] ?? []) if (!this.knows(entity, id)) return false
    }
    return true
  }

  /** True when the row is here, or known to be absent. */
  knows(entity: Loadable, id: string): boolean {
    return this.rows[entity].get(id) !== undefined
  }

  has(id: string): boolean {
    const isHere = this.member(id) !== undefined || loadable.some((kind) => this.row(kind, id) !== undefined)
    return isHere || this.gone.get(id) === true
  }

  roleOf(userId: string): Role | null {
    if (!this.project) return null
    return this.project.ownerId === userId ? 'OWNER' : (this.byUser.get(userId)?.role ?? null)
  }

  put(entity: Entity, id: string, row: Row | null): void {
    if (entity === 'project') this.project = row as ProjectRow | null
    else if (entity === 'member') this.putMember(id, row as MemberRow | null)
    else {
      const rows = this.rows[entity as Loadable] as Overlay<Row> | undefined
      if (!rows) return // integrations are never warm
      const old = rows.get(id)
      this.rowBytes += weigh(row) - (old === undefined ? 0 : weigh(old))
      rows.set(id, row)
    }
  }

  /** Takes a row away for good: its id is not given again. */
  drop(entity: Entity, id: string): void {
    this.put(entity, id, null)
    this.gone.set(id, true)
    this.rowBytes += goneBytes
  }

  /** Drops the rows, which can be loaded again; the project and its members stay. */
  forgetRows(): void {
    for (const rows of Object.values(this.rows)) rows.clear()
    this.gone.clear()
    this.rowBytes = 0
    this.leaving = null
  }

  private putMember(id: string, row: MemberRow | null): void {
    const old = this.members.get(id)
    if (old) this.byUser.delete(old.userId)
    this.memberBytes += (row ? weigh(row) : 0) - (old ? weigh(old) : 0)
    this.memberCount += (row ? 1 : 0) - (old ? 1 : 0)
    if (!row) return this.members.delete(id)
    this.members.set(id, row)
    this.byUser.set(row.userId, row)
  }
}

/**
 * Applies one fact: the state takes the next version and the row as it stands after. Changes the state that it is given,
 * and answers it: who only tries gives it a fork. The only way a state changes.
 */
export function evolve(state: State, change: Change): State {
  state.version++
  state.lastEventId = change.id
  // Its subtasks and comments may have changed while the task lived in another project.
  if (change.type === 'task.moved_in') state.forgetRows()
  if (change.type === 'task.moved_out') state.leaving = null
  if (change.untold) state.integrations?.apply(change)
  const after = rowAfter(change)
  if (after) state.put(change.entity, change.entityId, after)
  else state.drop(change.entity, change.entityId)
  const number = change.entity === 'task' ? (change as Change<'task'>).after?.number : undefined
  if (number !== undefined && number > state.lastNumber) state.lastNumber = number
  return state
}
