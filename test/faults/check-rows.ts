import { canonical, type Evidence, type Fact, type Row } from './evidence.ts'
import { fold } from './check-folding.ts'

/**
 * The tables are what the events leave, without what was in a deleted project or on a deleted task: no row is
 * lost, none is wrong, and once the worker is done no orphan is left.
 */
export function checkRows({
  facts,
  rows,
  streams,
  remembered,
}: Omit<Evidence, 'kept' | 'posted' | 'owed'>): string[] {
  const { faults, rows: folded } = fold(facts)
  const isAlive = aliveIn(folded)
  const stored = new Map(rows.map(({ entity, row }) => [row.id, { entity, row }]))
  for (const [id, { entity, after }] of folded) {
    const row = stored.get(id)?.row
    if (!isAlive(entity, after)) continue
    if (!row) faults.push(`${entity} ${id} is lost: ${JSON.stringify(after)}`)
    else if (canonical(row) !== canonical(after))
      faults.push(`${entity} ${id} is ${JSON.stringify(row)} and not ${JSON.stringify(after)}`)
  }
  for (const { entity, row } of rows) {
    const end = folded.get(row.id)
    if (!end) faults.push(`${entity} ${row.id} stands, its history says that it is gone`)
    else if (!isAlive(entity, end.after))
      faults.push(`${entity} ${row.id} is an orphan: ${JSON.stringify(row)}`)
  }
  const isGone = (projectId: string) => !folded.has(projectId)
  faults.push(...remembered.filter(isGone).map((id) => `events of the deleted project ${id} are left`))
  const left = streams.filter(({ projectId }) => isGone(projectId))
  faults.push(...left.map(({ projectId }) => `the stream of the deleted project ${projectId} is left`))
  return [...faults, ...assignedToStrangers(rows)]
}

function aliveIn(folded: Map<string, Fact & { after: Row }>) {
  return (entity: string, row: Row): boolean => {
    if (entity === 'project') return true
    if (row.projectId) return folded.has(row.projectId as string)
    const task = folded.get(row.taskId as string)
    return task !== undefined && folded.has(task.after.projectId as string)
  }
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
