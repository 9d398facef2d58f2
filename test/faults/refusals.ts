import { type Role, suffices } from '../../src/identity/rights.ts'
import type { Operation } from './history.ts'
import type { Chain } from './observations.ts'
import { common, type Places, type RoleSpan, type Span } from './places.ts'
import { model } from '../../modules/modules.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { fold, emptyContents } from '../support/fold.ts'
import { seqsOf } from './check-undos.ts'
import type { Fact, Row } from './evidence.ts'
import { type Undo, versions } from './undoing.ts'

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

/** When an undo could rightly have been refused: over which versions of its project. */
export function excusesOfUndo(
  { about, body, callerId, status, text }: Operation,
  places: Places,
  history: Fact[],
): Span[] {
  const projectId = about.projectId!
  const targets = seqsOf(body as Undo, history).flatMap((seq) => history[seq - 1] ?? [])
  const roles = places.rolesOf(callerId, projectId)
  if (status === 403) {
    const tooLittle = (role: Role | null) =>
      role && targets.some((target) => !mayUndo(target, callerId, role))
    return roles.filter(({ role }) => tooLittle(role))
  }
  if (status !== 409) return []
  const { message } = JSON.parse(text) as { message: string }
  if (/^Seq \d+ cannot be undone/.test(message)) return excusesOfOvertaken(message, targets, history)
  const whole = { projectId, from: 0, before: Infinity }
  const isFor = (words: RegExp, are: boolean) => (words.test(message) && are ? [whole] : [])
  return [
    ...isFor(
      /creation cannot be undone/,
      targets.some(({ type }) => type === 'project.created'),
    ),
    ...isFor(
      /make the change again/,
      targets.some(({ entity }) => model.entities[entity].untold !== undefined),
    ),
    ...isFor(
      /move between projects/,
      targets.some(({ type }) => type.startsWith('task.moved_')),
    ),
    ...isFor(/as another member in one undo/, targets.filter(({ entity }) => entity === 'member').length > 1),
    ...(/not in the project any more/.test(message) ? strangersAmong(targets, places) : []),
    ...(/id/.test(message) ? targets.flatMap(({ taskId }) => elsewhere(places, taskId, projectId)) : []),
  ]
}

/**
 * Editors write tasks, subtasks and comments, admins the project and its members. An editor restores only what that editor
 * deleted. A comment is its author's, or an admin's to delete.
 */
export function mayUndo(
  { entity, type, before, after, actorId }: Fact,
  callerId: string,
  role: Role,
): boolean {
  if (entity === 'project' || entity === 'member') return suffices(role, 'ADMIN')
  if (!after && !suffices(role, actorId === callerId ? 'EDITOR' : 'ADMIN')) return false
  const isAuthor = (before ?? after)?.authorId === callerId
  if (type === 'comment.updated') return isAuthor
  return entity === 'comment' ? isAuthor || suffices(role, 'ADMIN') : suffices(role, 'EDITOR')
}

const strangersAmong = (targets: Fact[], places: Places): Span[] =>
  targets.flatMap(({ projectId, before }) =>
    places.rolesOf((before?.assigneeId as string | null) ?? '', projectId).filter(({ role }) => !role),
  )

const elsewhere = ({ stays }: Places, taskId: string | null, projectId: string): Span[] =>
  (stays.get(taskId ?? '') ?? []).filter((stay) => stay.projectId !== projectId)

/** What it names came after, and is about the same; and for one change, all versions at which not all of it was there. */
function excusesOfOvertaken(message: string, targets: Fact[], history: Fact[]): Span[] {
  const target = history[Number(/^Seq (\d+)/.exec(message)![1]) - 1]
  const [only] = targets
  if (!target || !targets.includes(target)) return []
  const { projectId } = target
  const named = (/by seq ([\d, ]+)$/.exec(message)?.[1] ?? '').split(', ').filter(Boolean).map(Number)
  const later = history.slice(target.seq).filter((fact) => isAbout(fact, target))
  if (named.some((seq) => !later.some((fact) => fact.seq === seq))) return []
  const isPlain = targets.length === 1 && only!.before && only!.after
  if (isPlain) return changedSpans(target, history)
  return later.map(({ seq }) => ({ projectId, from: seq, before: Infinity }))
}

function isAbout(fact: Fact, target: Fact): boolean {
  const isPerson = fact.entity === 'member' && target.entity === 'member'
  const userId = ({ before, after }: Fact) => (after ?? before)!.userId
  return (
    fact.entityId === target.entityId ||
    (target.taskId !== null && fact.taskId === target.taskId) ||
    (isPerson && userId(fact) === userId(target))
  )
}

/** The versions since a change at which its fields are not what it made them, or all of it is gone. */
function changedSpans(target: Fact, history: Fact[]): Span[] {
  const { projectId, seq, entityId, taskId, entity, before, after } = target
  const fields = Object.keys(after!).filter(
    (name) => !versions.includes(name) && after![name] !== before![name],
  )
  const contents = emptyContents()
  const rows = contents[entity] as Map<string, unknown> as Map<string, Row>
  rows.set(entityId, after!)
  const spans: Span[] = []
  let open: Span | undefined
  for (const fact of history.slice(seq)) {
    if (fact.entityId !== entityId && fact.entityId !== taskId) continue
    fold(contents, fact as unknown as StoredEvent)
    const row = rows.get(entityId)
    const holds = row && fields.every((name) => row[name] === after![name])
    if (holds && open) spans.push({ ...open, before: fact.seq })
    open = holds ? undefined : (open ?? { projectId, from: fact.seq, before: Infinity })
  }
  return open ? [...spans, open] : spans
}
