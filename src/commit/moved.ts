import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Moved } from '../followers/hints.ts'
import type { Unit } from './commit.ts'

/** What a commit moved, and whom it brought into it: who listens to all that they may see hears of it so. */
export function movedBy({ heads, events }: Pick<Unit, 'heads' | 'events'>): Moved[] {
  const coming = events.filter(bringsSomebody)
  if (coming.length === 0) return heads
  return heads.map(({ projectId, version }) => {
    const own = coming.filter((event) => event.projectId === projectId)
    return { projectId, version, comers: own.map(comerOf) }
  })
}

const bringsSomebody = ({ entity, before, after }: StoredEvent): boolean =>
  before === null && after !== null && (entity === 'project' || entity === 'member')

const comerOf = ({ entity, after }: StoredEvent): string =>
  entity === 'project' ? (after as ProjectRow).ownerId : (after as MemberRow).userId
