import { isDeepStrictEqual } from 'node:util'
import type { Entity, Rows } from '../../drizzle/entities.ts'
import type { CommentRow, SubtaskRow } from '../../drizzle/rows.ts'
import type { StoredEvent } from '../../src/facts/facts.ts'
import { arrivedWith, type Changed, rowAfter, rowBefore } from '../../src/facts/rows.ts'
import type { User } from '../accounts/user.ts'
import { commentView } from '../comments/schema.ts'
import { serviceAccountSummary, tokenSummary, webhookSummary } from '../creations/schema.ts'
import { memberView } from '../members/schema.ts'
import { projectView } from '../projects/schema.ts'
import { subtaskView } from '../subtasks/schema.ts'
import { taskView } from '../tasks/schema.ts'

/** The accounts that events name, by their ids, as they are called now. */
export type People = ReadonlyMap<string, User>

/** An event as it is stored, with the people that it may name. */
export interface ReadEvent extends StoredEvent {
  taskId: string | null
  people: People
}

const known = (people: People, id: string) => {
  const user = people.get(id)
  return user && { ...user, nameTag: '' }
}

interface Created {
  createdBy: string | null
}
const creatorOf = ({ createdBy }: Created) => (createdBy === null ? [] : [createdBy])
const byKnown = <R extends Created>(row: R, people: People): R =>
  people.has(row.createdBy ?? '') ? row : { ...row, createdBy: null }

/** How the API shows each row, and whom it shows with it. */
const views: { [E in Entity]: { of(row: Rows[E], people: People): object; who(row: Rows[E]): string[] } } = {
  project: {
    of: (row, people) => projectView.of(row, known(people, row.ownerId)),
    who: ({ ownerId }) => [ownerId],
  },
  member: {
    of: (row, people) => memberView.of(row, known(people, row.userId)),
    who: ({ userId }) => [userId],
  },
  task: { of: (row) => taskView.of(row), who: () => [] },
  subtask: { of: (row) => subtaskView.of(row), who: () => [] },
  comment: {
    of: (row, people) => commentView.of(row, known(people, row.authorId)),
    who: ({ authorId }) => [authorId],
  },
  webhook: { of: (row, people) => webhookSummary.of(byKnown(row, people)), who: creatorOf },
  service_account: { of: (row, people) => serviceAccountSummary.of(byKnown(row, people)), who: creatorOf },
  token: { of: (row, people) => tokenSummary.of(byKnown(row, people)), who: creatorOf },
}
const viewOf = (entity: Entity) =>
  views[entity] as { of(row: unknown, people: People): object; who(row: unknown): string[] }

/** Whose names an event shows. */
export function peopleIn(event: StoredEvent): string[] {
  const row = event.before ? rowBefore(event) : rowAfter(event)
  const comments = arrivedWith(event)?.comments ?? []
  const shown = row ? viewOf(event.entity).who(row) : []
  return [event.actorId, ...shown, ...comments.map(({ authorId }) => authorId)]
}

/** An event as the API shows it: views of what was and is, never the rows themselves. */
export function shownEvent(event: ReadEvent): object {
  const { seq, id, type, entity, entityId, taskId, batch = null, undoes, actorId, at, people } = event
  const actor = { id: actorId, name: people.get(actorId)?.name ?? null }
  const { before, after } = sidesOf(event)
  // What is absent is not written out; to spread objects into one another costs more than to write it.
  const takesBack = undoes ?? undefined
  return { seq, id, type, entity, entityId, taskId, batch, undoes: takesBack, actor, at, before, after }
}

function sidesOf(event: ReadEvent): { before: object | null; after: object | null } {
  const { people, entity } = event
  const shown = (row: object | null) => row && viewOf(entity).of(row, people)
  const [before, after] = [shown(rowBefore(event)), shown(rowAfter(event))]
  const [had, has] = before && after ? differences(before, after) : [before, after]
  return { before: had, after: has && withAlong(event, has) }
}

/** With what came with a task that moved in, and what was changed of a webhook. */
function withAlong(event: ReadEvent, after: object): object {
  const came = arrivedWith(event)
  if (event.type === 'webhook.updated') return { ...after, changed: (event.after as Changed).changed }
  if (!came) return after
  const { subtasks, comments } = came
  const shown = (entity: Entity, rows: (SubtaskRow | CommentRow)[]) =>
    rows.map((row) => viewOf(entity).of(row, event.people))
  return {
    ...after,
    ...(subtasks && { subtasks: shown('subtask', subtasks) }),
    ...(comments && { comments: shown('comment', comments) }),
  }
}

/** The fields in which two views of one thing differ, as each has them. */
function differences(before: object, after: object): [object, object] {
  const had = Object.entries(before)
  const has = after as Record<string, unknown>
  // Most are texts, and the same: to compare those in depth is what an event would cost most.
  const isChanged = ([name, value]: [string, unknown]) =>
    value !== has[name] && !isDeepStrictEqual(value, has[name])
  const changed = had.filter(isChanged).map(([name]) => name)
  const only = (all: object) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => changed.includes(name)))
  return [only(before), only(after)]
}
