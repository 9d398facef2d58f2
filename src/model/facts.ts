import type { Sql } from '../postgres/database.ts'
import type { EventDraft } from './events.ts'

/**
 * Data about a project that rules need besides rows, such as which external ids are taken. Loaded for each group of
 * commands; `apply` updates the data for each event of the group.
 */
export interface Fact {
  /** A copy on which operations can be tried. */
  fork(): Fact
  apply(change: EventDraft): void
}

/** Loads one kind of fact. The object itself is the key of the kind. */
export interface FactKind<F extends Fact = Fact, Wanted = unknown> {
  create(projectId: string): F
  /** Loaded after the other kinds, so that `taskIds` contains their tasks too. */
  isLast?: boolean
  /**
   * Adds what `wanted` asks for, as of the project's committed version. Returns the ids of tasks to load as rows.
   * @param taskIds the tasks that the group may change; their rows are loaded
   */
  load(sql: Sql, fact: F, wanted: Wanted[], taskIds: string[]): Promise<string[] | void>
}

export interface FactQuery {
  kind: FactKind<never, never>
  wanted: unknown
}

export const factQuery = <F extends Fact, Wanted>(kind: FactKind<F, Wanted>, wanted: Wanted): FactQuery => ({
  kind: kind as unknown as FactKind<never, never>,
  wanted,
})

/** Thrown by a rule that rarely needs a fact, so its command does not preload the fact. The group is decided again. */
export class FactNeeded extends Error {
  constructor(readonly query: FactQuery) {
    super('A rule needs a fact that is not loaded')
  }
}
