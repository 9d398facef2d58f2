import { canonical, type Fact, type Row, rowOf } from './evidence.ts'
import { same } from './undone-pairs.ts'

/** The rows that all events together leave, and where an event does not build on the one before it. */
export function fold(facts: Fact[]): { faults: string[]; rows: Map<string, Fact & { after: Row }> } {
  const rows = new Map<string, Fact & { after: Row }>()
  const faults: string[] = []
  for (const [entityId, life] of Map.groupBy(facts, ({ entityId }) => entityId)) {
    const { ends, wrong } = follow(life)
    faults.push(...wrong)
    if (ends.length > 1) faults.push(`${life[0]!.entity} ${entityId} goes on in ${ends.length} ways`)
    const [end] = ends
    if (end?.after) rows.set(entityId, { ...end, after: rowOf(end)! })
  }
  return { faults, rows }
}

const nobody = { id: '', before: null, after: null } as unknown as Fact
const isComeback = ({ before, undoes }: Fact) => !before && undoes != null

/** Follows one entity through all projects it lived in. Each fact but one is built upon exactly once. */
function follow(life: Fact[]): { ends: Fact[]; wrong: string[] } {
  const byId = new Map(life.map((fact) => [fact.id, fact]))
  const builtUpon = new Set<string>()
  const wrong: string[] = []
  const count = (type: string) => life.filter((fact) => fact.type === type).length
  for (const { before, type, id } of life) {
    if (!before) continue
    const previous = byId.get(before.eventId)
    if (canonical(previous && rowOf(previous)) !== canonical(before))
      wrong.push(`${type} ${id} does not build on its row`)
    if (builtUpon.has(before.eventId)) wrong.push(`${type} ${id} and another build on ${before.eventId}`)
    builtUpon.add(before.eventId)
  }
  for (const fact of life.filter(isComeback)) {
    const last = life.reduce((latest, one) => (one.id < fact.id && one.id > latest.id ? one : latest), nobody)
    if (!same(fact.after, last.after ? rowOf(last) : last.before))
      wrong.push(`${fact.type} ${fact.id} came back otherwise than it went`)
    if (builtUpon.has(last.id)) wrong.push(`${fact.type} ${fact.id} and another build on ${last.id}`)
    builtUpon.add(last.id) // of what went with its task, this is the only word
  }
  const isArrival = ({ type, before }: Fact) => type === 'task.moved_in' && !before
  const starts = life.filter((fact) => !fact.before && fact.type !== 'task.moved_in' && !isComeback(fact))
  const { entity, entityId } = life[0]!
  if (starts.length !== 1) wrong.push(`${entity} ${entityId} began ${starts.length} times`)
  const arrivals = life.filter(isArrival).length
  if (count('task.moved_out') !== arrivals) wrong.push(`task ${entityId} was moved by half`)
  return { wrong, ends: life.filter(({ id, after }) => after && !builtUpon.has(id)) }
}
