import { isAtLeast } from '../../src/identity/rights.ts'
import { observationsOfVersions } from './check-histories.ts'
import type { ListObservation } from './check-lists.ts'
import type { Attribution } from './check-writes.ts'
import type { LogEvent } from './evidence.ts'
import { label, type Operation, outcomeOf } from './history.ts'
import { rejectionRanges, undoRejectionRanges } from './rejections.ts'
import { intersection, StateRanges, type VersionRange } from './state-ranges.ts'
import { indexEvents, observationsOfLists, observationsOfTasks } from './task-observations.ts'
import { Bounds } from './timeline.ts'

interface Input {
  events: LogEvent[]
  operations: Operation[]
  causes: Attribution['causes']
  lists: ListObservation[]
}

/** Whether one of these versions may have been the latest at some moment of the request. */
type Overlaps = (range: VersionRange, operation: Operation) => boolean

/**
 * Checks that each project's history is linearizable in the order of its log: every write takes effect between its
 * start and its response, and every read and rejection shows a state that was current between its start and its end.
 */
export function checkOrder({ events, operations, causes, lists }: Input): string[] {
  const bounds = new Bounds()
  for (const { id, projectId, seq } of events) {
    const cause = causes.get(id)
    if (cause) bounds.created(projectId, seq, cause)
  }
  const index = indexEvents(events)
  const { errors, observations } = observationsOfTasks(operations, index)
  const versions = observationsOfVersions(operations)
  const ofLists = observationsOfLists(lists)
  for (const { read, range } of [...observations, ...versions, ...ofLists]) bounds.observed(range, read)
  const timelines = bounds.timelines()
  const overlaps: Overlaps = ({ projectId, from, before }, { start, end }) =>
    timelines.get(projectId)?.overlaps(from, before, start, end) ?? true

  const states = new StateRanges(events)
  // The rows of a list may be newer than the version at which the reader was authorized.
  const anyVersion = { from: 0, before: Infinity }
  const widened = ofLists.map(({ read, range }) => ({ read, range: { ...range, ...anyVersion } }))
  const unauthorized = [...observations, ...versions, ...widened].filter(
    ({ read, range }) => !mayRead(read, range, states, overlaps),
  )
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const allowedRanges = (operation: Operation) =>
    operation.kind === 'undo' && operation.status !== 404
      ? undoRejectionRanges(operation, states, histories.get(operation.about.projectId!) ?? [])
      : rejectionRanges(operation, states, index)
  const isWrong = (operation: Operation) =>
    outcomeOf(operation) === 'rejected' &&
    !allowedRanges(operation).some((range) => overlaps(range, operation))
  return [
    ...[...timelines.values()].flatMap((timeline) => timeline.errors),
    ...errors,
    ...unauthorized.map(({ read }) => `${label(read)} was readable by ${read.callerId}, who is not a member`),
    ...events.flatMap((event) => roleError(event, causes.get(event.id), states) ?? []),
    ...operations.filter(isWrong).map((operation) => `${label(operation)} was rejected: ${operation.text}`),
  ]
}

const mayRead = (read: Operation, returned: VersionRange, states: StateRanges, overlaps: Overlaps): boolean =>
  states.rolesOf(read.callerId, returned.projectId).some((range) => {
    const both = range.role && intersection(range, returned)
    return both && overlaps(both, read)
  })

function roleError(event: LogEvent, cause: Operation | undefined, states: StateRanges): string | undefined {
  if (!cause || event.type === 'project.created') return undefined
  const role = states.roleAt(event)
  const required = /^(task|subtask)\./.test(cause.kind) || cause.kind === 'batch' ? 'EDITOR' : 'VIEWER'
  return role && isAtLeast(role, required)
    ? undefined
    : `${label(cause)} wrote event ${event.seq} with the role ${role}`
}
