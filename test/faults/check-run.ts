import type { StoredEvent } from '../../src/model/events.ts'
import { faultsIn, visibleIn } from '../support/history.ts'
import { checkOrder } from './check-order.ts'
import { type Attribution, attribute } from './check-writes.ts'
import type { Evidence } from './evidence.ts'
import { isWrite, type Operation, type Violation, violationsOf } from './history.ts'

export interface Verdict {
  violations: Violation[]
  resolved: Attribution['resolved']
}

export function checkRun(operations: Operation[], evidence: Evidence): Verdict {
  const { causes, errors, resolved } = attribute(operations.filter(isWrite), evidence)
  const pending = evidence.pendingJobs.map(
    ({ name, projectId }) => `${name} of ${projectId} is still pending`,
  )
  return {
    resolved,
    violations: [
      ...violationsOf('every write happens once or not at all', errors),
      ...violationsOf('the rows are the result of the events, without a gap', checkRows(evidence)),
      ...violationsOf('every response shows a state of its time', checkOrder(operations, evidence, causes)),
      ...violationsOf('no job is lost', pending),
    ],
  }
}

type Stored = Pick<Evidence, 'events' | 'rows' | 'streams' | 'projectsWithEvents'>

/** Checks that the events give the stored rows, and that workers deleted all rows of deleted projects and tasks. */
export function checkRows({ events, rows, streams, projectsWithEvents }: Stored): string[] {
  const isVisible = visibleIn(rows)
  const orphans = rows.filter(({ entity, row }) => !isVisible(entity, row))
  const isDeleted = (id: string) => !rows.some(({ entity, row }) => entity === 'project' && row.id === id)
  const left = streams.filter(({ projectId }) => isDeleted(projectId))
  return [
    ...faultsIn({ events: events as unknown as StoredEvent[], rows, streams }, true),
    ...orphans.map(({ entity, row }) => `${entity} ${row.id} is an orphan: ${JSON.stringify(row)}`),
    ...projectsWithEvents.filter(isDeleted).map((id) => `events of the deleted project ${id} remain`),
    ...left.map(({ projectId }) => `the stream of the deleted project ${projectId} remains`),
    ...assignedToNonMembers(rows),
  ]
}

function assignedToNonMembers(rows: Evidence['rows']): string[] {
  const members = new Set(
    rows.map(({ entity, row }) => {
      if (entity === 'project') return `${row.id} ${row.ownerId as string}`
      return entity === 'member' ? `${row.projectId as string} ${row.userId as string}` : ''
    }),
  )
  return rows
    .filter(({ entity, row }) => entity === 'task' && row.assigneeId)
    .filter(({ row }) => !members.has(`${row.projectId as string} ${row.assigneeId as string}`))
    .map(({ row }) => `task ${row.id} is assigned to ${row.assigneeId as string}, who is not a member`)
}
