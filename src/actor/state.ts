import { type Entity, type Loadable, loadable, type Rows } from '../../drizzle/entities.ts'
import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { Role } from '../identity/roles.ts'
import { notFound } from '../wire/refusals.ts'
import { nilId } from '../ids.ts'
import type { Change } from '../facts/facts.ts'

type Row = Rows[Entity]
type RowMaps = Record<Loadable, Map<string, Row | null>>
const newRows = () => new Map<string, Row | null>()

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
  /** What the user is here; null for a stranger and in a project that is gone. */
  roleOf(userId: string): Role | null
}

/** The facts of a project that rules decide on, warm between commits. A row that is null is known to be absent. */
export class State implements ProjectState {
  project: ProjectRow | null = null
  private readonly rows = Object.fromEntries(loadable.map((entity) => [entity, newRows()])) as RowMaps
  /** About how much memory the rows and members take. */
  bytes = 0
  private readonly members = new Map<string, MemberRow>()
  private readonly byUser = new Map<string, MemberRow>()

  constructor(
    readonly projectId: string,
    public version = 0,
    public lastNumber = 0,
    public lastEventId = nilId,
  ) {}

  member(id: string) {
    return this.members.get(id)
  }

  memberOf(userId: string) {
    return this.byUser.get(userId)
  }

  get memberCount() {
    return this.members.size
  }

  row<E extends Loadable>(entity: E, id: string) {
    return (this.rows[entity].get(id) ?? undefined) as Rows[E] | undefined
  }

  present<E extends Loadable>(entity: E, id: string) {
    const row = this.row(entity, id)
    if (!row) throw notFound(entity.charAt(0).toUpperCase() + entity.slice(1))
    return row
  }

  /** True when the row is here, or known to be absent. */
  knows(entity: Loadable, id: string): boolean {
    return this.rows[entity].has(id)
  }

  roleOf(userId: string): Role | null {
    if (!this.project) return null
    return this.project.ownerId === userId ? 'OWNER' : (this.byUser.get(userId)?.role ?? null)
  }

  put(entity: Entity, id: string, row: Row | null): void {
    if (entity === 'project') this.project = row as ProjectRow | null
    else if (entity === 'member') this.putMember(id, row as MemberRow | null)
    else {
      const rows = this.rows[entity]
      this.bytes += weigh(row) - (rows.has(id) ? weigh(rows.get(id)) : 0)
      rows.set(id, row)
    }
  }

  /** Drops the rows, which can be loaded again; the project and its members stay. */
  forgetRows(): void {
    for (const rows of Object.values(this.rows)) {
      for (const row of rows.values()) this.bytes -= weigh(row)
      rows.clear()
    }
  }

  private putMember(id: string, row: MemberRow | null): void {
    const old = this.members.get(id)
    if (old) this.byUser.delete(old.userId)
    this.bytes += (row ? weigh(row) : 0) - (old ? weigh(old) : 0)
    this.members.delete(id)
    if (!row) return
    this.members.set(id, row)
    this.byUser.set(row.userId, row)
  }
}

/** A row's fields and map entries take about 700 bytes (measured), its long texts two bytes a character. */
function weigh(row: Row | null | undefined): number {
  const { description, text } = (row ?? {}) as { description?: string | null; text?: string }
  return 700 + 2 * ((description?.length ?? 0) + (text?.length ?? 0))
}

/** Applies one fact: the state takes the next version and the row as it stands after. The only way a state changes. */
export function evolve(state: State, change: Change): State {
  state.version++
  state.lastEventId = change.id
  // Its subtasks and comments may have changed while the task lived in another project.
  if (change.type === 'task.moved_in') state.forgetRows()
  state.put(change.entity, change.entityId, change.after)
  const number = change.entity === 'task' ? (change as Change<'task'>).after?.number : undefined
  if (number !== undefined && number > state.lastNumber) state.lastNumber = number
  return state
}
