import { type Role, suffices } from '../../src/identity/rights.ts'
import type { Operation } from './history.ts'
import type { Chain } from './observations.ts'
import { common, type Places, type RoleSpan, type Span } from './places.ts'

/** When a request could rightly have been refused as it was: stretches of versions; none for what must not be. */
export function excusesOf(operation: Operation, places: Places, { at, after }: Chain): Span[] {
  const { about, callerId, ifMatch, status } = operation
  const where = placesOf(operation, places)
  const when = (userId: string | undefined, fits: (span: RoleSpan) => boolean) =>
    where.flatMap((place) =>
      places
        .rolesOf(userId ?? '', place.projectId)
        .flatMap((span) => (fits(span) ? (common(place, span) ?? []) : [])),
    )
  if (status === 404) return [...when(callerId, ({ role }) => !role), ...absencesOf(operation, places)]
  if (status === 403) return when(callerId, (span) => isTooLittle(span, operation))
  if (status === 409) return when(about.userId, ({ role }) => role !== null)
  if (status === 400 && about.userId) return when(about.userId, ({ role }) => !role)
  if (status === 412 && ifMatch) {
    const fact = after(at(ifMatch))
    return fact ? [{ projectId: fact.projectId, from: fact.seq, before: Infinity }] : []
  }
  return []
}

function placesOf({ about }: Operation, places: Places): Span[] {
  const whole = (projectId: string) => ({ projectId, from: 0, before: Infinity })
  const named = [about.projectId, about.otherProjectId].flatMap((id) => (id ? [whole(id)] : []))
  return [...named, ...(places.stays.get(about.taskId ?? '') ?? [])]
}

const absencesOf = ({ about }: Operation, places: Places): Span[] => [
  ...places.absencesOf(about.taskId ?? ''),
  ...(places.gone.get(about.id) ?? []),
]

const isTooLittle = ({ role }: RoleSpan, { kind }: Operation): boolean =>
  role !== null && !suffices(role, least(kind))

/** What a request takes; deleting a comment takes this only of who did not write it. */
function least(kind: string): Role {
  if (kind === 'project.delete') return 'OWNER'
  if (kind.startsWith('member.') || kind === 'project.patch' || kind === 'comment.delete') return 'ADMIN'
  return 'EDITOR'
}
