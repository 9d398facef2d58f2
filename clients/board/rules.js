// The pure rules of the board: how events change and restore a project, the order of cards, filters.
/** @import { Columns, Filter, ProjectEvent, State, Status, Task, Write } from './types.js' */

/** @type {Status[]} */ export const statuses = ['TODO', 'IN_PROGRESS', 'DONE']
export const isSystem = (/** @type {{ id: string }} */ { id }) => /^[0-]+$/.test(id)
export const isDate = (/** @type {string} */ at) => at.endsWith('T00:00:00.000Z') // True for a date without a time.
/** @type {(project: State['project'], version: number) => State} */ export const emptyState = (project, version) => {
  const rows = { tasks: new Map(), labels: new Map(), members: new Map(), removed: new Set() }
  return { project, version, since: version, ...rows }
}
export const copyOf = (/** @type {State} */ { tasks, labels, members, removed, ...rest }) => {
  const copies = { tasks: new Map(tasks), labels: new Map(labels), members: new Map(members), removed: new Set(removed) }
  return { ...rest, ...copies }
}

/** @type {(state: State, event: ProjectEvent, from: object | null, to: object | null) => void} */
function change(state, { entity, entityId }, from, to) {
  if (entity === 'project' && to) state.project = { ...state.project, ...to }
  /** @type {Map<string, object> | undefined} */ const rows = { task: state.tasks, label: state.labels, member: state.members }[entity]
  const row = from ? rows?.get(entityId) : undefined
  if (!to) {
    rows?.delete(entityId)
    state.removed.add(entityId)
    // Several events move a task with many comments in. The later events have no row if the task has left again.
  } else if (row || !from) rows?.set(entityId, { ...row, ...to })
}

/** Applies the next event. @type {(state: State, event: ProjectEvent) => void} */
export function apply(state, event) {
  change(state, event, event.before, event.after)
  state.version = event.seq
}

/** Returns to the version before the last event. @type {(state: State, event: ProjectEvent) => void} */
export function reverse(state, event) {
  change(state, event, event.after, event.before)
  state.version = event.seq - 1
}
const isReferred = (/** @type {ProjectEvent} */ { entity }) => entity === 'task' || entity === 'label'
/** True if tasks show an id again, which the state does not have: that of a row deleted before the snapshot. @type {(state: State, event: ProjectEvent) => boolean} */
export const lacksIds = (state, event) => isReferred(event) && !event.before && event.undoes !== undefined && !state.removed.has(event.entityId)
/** Goes step by step to another version. Returns false if only the service has the rows on the way. @type {(state: State, version: number, eventAt: (seq: number) => ProjectEvent | undefined) => boolean} */
export function walk(state, version, eventAt) {
  while (state.version !== version) {
    const isBack = state.version > version
    const event = eventAt(isBack ? state.version : state.version + 1)
    if (!event || (isBack ? isReferred(event) && !event.after && event.seq <= state.since : lacksIds(state, event))) return false
    if (isBack) reverse(state, event)
    else apply(state, event)
  }
  return true
}
export const inOrder = (/** @type {Map<string, Task>} */ tasks) =>
  [...tasks.values()].sort((a, b) => (a.position < b.position ? -1 : a.position > b.position ? 1 : a.id < b.id ? -1 : 1))
export function columnsOf(/** @type {Iterable<Task>} */ ordered) {
  const columns = /** @type {Columns} */ ({ TODO: [], IN_PROGRESS: [], DONE: [] })
  for (const task of ordered) columns[task.status].push(task)
  return columns
}
/** Returns a key directly after `position` until the feed delivers the stored key. A higher count gives a smaller key. @type {(position: string, count: number) => string} */
export const keyAfter = (position, count) => `${position}\u0001${String.fromCharCode(0xd7ff - (count % 0xd000))}`
/** Returns the tasks as they will be after the writes. @type {(tasks: State['tasks'], writes: Pick<Write, 'taskId' | 'patch'>[]) => State['tasks']} */
export function withWrites(tasks, writes) {
  const result = new Map(tasks)
  for (const { taskId = '', patch } of writes) {
    const row = result.get(taskId)
    if (patch === null) result.delete(taskId)
    else if (patch && (row || patch.id)) result.set(taskId, /** @type {Task} */ ({ ...row, ...patch }))
  }
  return result
}
/** @type {(task: Task, tasks: State['tasks']) => Task[]} */ export const openBlockers = ({ blockedByIds }, tasks) =>
  blockedByIds.flatMap((id) => tasks.get(id) ?? []).filter(({ status }) => status !== 'DONE')
/** A date without a time is overdue from the next day on. @type {(task: Task, now: number) => boolean} */
export function isOverdue({ dueDate, status }, now) {
  if (!dueDate || status === 'DONE') return false
  const today = new Date(now - new Date(now).getTimezoneOffset() * 60_000).toISOString()
  return isDate(dueDate) ? dueDate.slice(0, 10) < today.slice(0, 10) : Date.parse(dueDate) < now
}
/** @type {(task: Task, now: number) => boolean} */
export const isClaimed = ({ claim }, now) => claim !== null && Date.parse(claim.until) > now
/** @type {(filter: Filter, tasks: State['tasks'], me: string, now: number) => (task: Task) => boolean} */
export function matches({ text, label, assignee, ready }, tasks, me, now) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isFree = (/** @type {Task} */ task) => !isClaimed(task, now) || task.claim?.by.id === me
  return (task) => {
    if (label && !task.labelIds.includes(label)) return false
    if (assignee && (task.assigneeId ?? 'none') !== assignee) return false
    if (ready && (task.status === 'DONE' || !isFree(task) || openBlockers(task, tasks).length > 0)) return false
    const found = words.length > 0 ? `#${task.number} ${task.title} ${task.description ?? ''}`.toLowerCase() : ''
    return words.every((word) => found.includes(word))
  }
}
/** These events change no row that anybody wrote, and cannot be undone. */
const recorded = ['task.ready', 'task.due', 'task.reminded', 'task.released', 'task.claim_expired']
/** Splits events into those that an undo of all reverses, and those that stay. Of the claims on a task, only one that still holds can be undone. */
export function splitLater(/** @type {ProjectEvent[]} */ later) {
  const isOfClaim = (/** @type {ProjectEvent} */ { type, after }) => type === 'task.claimed' || type === 'task.deleted' || after?.claim === null
  const lastOfClaim = new Map(later.filter(isOfClaim).map(({ entityId, seq }) => [entityId, seq]))
  const stays = (/** @type {ProjectEvent} */ { seq, type, entityId, actor }) =>
    recorded.includes(type) || (type === 'task.updated' && isSystem(actor)) || (type === 'task.claimed' && lastOfClaim.get(entityId) !== seq)
  return { undone: later.filter((event) => !stays(event)), left: later.filter(stays) }
}
