import { type Role, isAtLeast } from '../../src/identity/rights.ts'
import { seqsOf, type Undo } from './check-undos.ts'
import type { LogEvent } from './evidence.ts'
import type { Operation } from './history.ts'
import { intersection, type RoleRange, type StateRanges, type VersionRange } from './state-ranges.ts'
import type { EventIndex } from './task-observations.ts'

/** Returns the versions at which the service may reject the request with its status; none if the rejection is wrong. */
export function rejectionRanges(
  operation: Operation,
  states: StateRanges,
  { at, after }: EventIndex,
): VersionRange[] {
  const { about, callerId, ifMatch, status } = operation
  const where = rangesOf(operation, states)
  const when = (userId: string | undefined, matches: (range: RoleRange) => boolean) =>
    where.flatMap((place) =>
      states
        .rolesOf(userId ?? '', place.projectId)
        .flatMap((range) => (matches(range) ? (intersection(place, range) ?? []) : [])),
    )
  if (status === 404) return [...when(callerId, ({ role }) => !role), ...deletedRangesOf(operation, states)]
  if (status === 403)
    return when(callerId, ({ role }) => role !== null && !isAtLeast(role, requiredRole(operation.kind)))
  if (status === 409) return when(about.userId, ({ role }) => role !== null)
  if (status === 400 && about.userId) return when(about.userId, ({ role }) => !role)
  if (status === 412 && ifMatch) {
    const event = after(at(ifMatch))
    return event ? [{ projectId: event.projectId, from: event.seq, before: Infinity }] : []
  }
  return []
}

const always = (projectId: string): VersionRange => ({ projectId, from: 0, before: Infinity })

function rangesOf({ about }: Operation, states: StateRanges): VersionRange[] {
  const named = [about.projectId, about.otherProjectId].flatMap((id) => (id ? [always(id)] : []))
  return [...named, ...(states.taskRanges.get(about.taskId ?? '') ?? [])]
}

const deletedRangesOf = ({ about }: Operation, states: StateRanges): VersionRange[] => [
  ...states.deletedRangesOf(about.taskId ?? ''),
  ...(states.deleted.get(about.id) ?? []),
]

/** The role that a request requires. The author of a comment may delete it with a lower role. */
function requiredRole(kind: string): Role {
  if (kind === 'project.delete') return 'OWNER'
  if (kind.startsWith('member.') || kind === 'project.patch' || kind === 'comment.delete') return 'ADMIN'
  return 'EDITOR'
}

/** Undos that return 403 or 409. The tests of the undo rules compare these rejections with a model. */
export function undoRejectionRanges(
  { about, body, callerId, status, text }: Operation,
  states: StateRanges,
  history: LogEvent[],
): VersionRange[] {
  const projectId = about.projectId!
  if (status === 403) return states.rolesOf(callerId, projectId).filter(({ role }) => role !== null)
  if (status !== 409) return []
  const { message } = JSON.parse(text) as { message: string }
  const conflict = /^Seq (\d+) .* by seq ([\d, ]+)$/.exec(message)
  if (!conflict) return [always(projectId)]
  const [target, ...later] = [conflict[1]!, ...conflict[2]!.split(', ')].map(Number) as [number, ...number[]]
  const isNamed = seqsOf(body as Undo, history).includes(target)
  const areRelated = later.every((seq) => seq > target && isRelated(history[seq - 1], history[target - 1]))
  return isNamed && areRelated ? [{ projectId, from: Math.max(...later), before: Infinity }] : []
}

function isRelated(one: LogEvent | undefined, other: LogEvent | undefined): boolean {
  if (!one || !other) return false
  const userId = ({ entity, before, after }: LogEvent) =>
    entity === 'member' ? (after ?? before)!.userId : undefined
  return (
    one.entityId === other.entityId ||
    (other.taskId !== null && one.taskId === other.taskId) ||
    (userId(one) !== undefined && userId(one) === userId(other))
  )
}
