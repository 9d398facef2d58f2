import { model } from '../../modules/modules.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { fold, nothing } from '../support/fold.ts'
import { canonical, type Evidence, type Row } from './evidence.ts'

/** What is in a project is what its own events say, read by themselves. */
export function checkOwnHistories({ facts, rows }: Pick<Evidence, 'facts' | 'rows'>): string[] {
  const stored = new Map(rows.map(({ row }) => [row.id, row]))
  const known = new Set<string>()
  const faults: string[] = []
  for (const [projectId, history] of Map.groupBy(facts, (fact) => fact.projectId)) {
    const contents = (history as unknown as StoredEvent[]).reduce(fold, nothing())
    const folded = model.names.flatMap((name) => [...contents[name].values()]) as unknown as Row[]
    for (const row of folded) {
      known.add(row.id)
      if (canonical(row) !== canonical(stored.get(row.id)))
        faults.push(`project ${projectId} says of ${row.id} ${JSON.stringify(row)}`)
    }
  }
  const unknown = rows.filter(({ row }) => !known.has(row.id))
  return [
    ...faults,
    ...unknown.map(({ entity, row }) => `${entity} ${row.id} is in no project's own history`),
  ]
}
