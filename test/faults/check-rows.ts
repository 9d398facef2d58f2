import type { StoredEvent } from '../../src/model/events.ts'
import { faultsIn, visibleIn } from '../support/history.ts'
import type { Evidence } from './evidence.ts'

/**
 * The tables are what the events leave, without what was in a deleted project or on a deleted task: no row is
 * lost, none is wrong, and once the worker is done no orphan is left.
 */
export function checkRows({
  facts,
  rows,
  streams,
  remembered,
}: Pick<Evidence, 'facts' | 'rows' | 'streams' | 'remembered'>): string[] {
  const isVisible = visibleIn(rows)
  const orphans = rows.filter(({ entity, row }) => !isVisible(entity, row))
  const isGone = (id: string) => !rows.some(({ entity, row }) => entity === 'project' && row.id === id)
  const left = streams.filter(({ projectId }) => isGone(projectId))
  return [
    ...faultsIn({ events: facts as unknown as StoredEvent[], rows, streams }, true),
    ...orphans.map(({ entity, row }) => `${entity} ${row.id} is an orphan: ${JSON.stringify(row)}`),
    ...remembered.filter(isGone).map((id) => `events of the deleted project ${id} are left`),
    ...left.map(({ projectId }) => `the stream of the deleted project ${projectId} is left`),
    ...assignedToStrangers(rows),
  ]
}

function assignedToStrangers(rows: Evidence['rows']): string[] {
  const inside = new Set(
    rows.map(({ entity, row }) => {
      if (entity === 'project') return `${row.id} ${row.ownerId as string}`
      return entity === 'member' ? `${row.projectId as string} ${row.userId as string}` : ''
    }),
  )
  const tasks = rows.filter(({ entity, row }) => entity === 'task' && row.assigneeId)
  return tasks
    .filter(({ row }) => !inside.has(`${row.projectId as string} ${row.assigneeId as string}`))
    .map(({ row }) => `task ${row.id} is assigned to ${row.assigneeId as string}, who is not in its project`)
}
