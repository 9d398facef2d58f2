import { checkHistories } from './check-lists.ts'
import { locateLists } from './check-lists.ts'
import { checkOrder } from './check-lists.ts'
import { checkRows } from './check-lists.ts'
import { checkUndos } from './check-writes.ts'
import { type Attribution, attribute } from './check-writes.ts'
import type { Evidence } from './evidence.ts'
import { type History, isWrite, type Violation, violationsOf } from './history.ts'

export interface Verdict {
  violations: Violation[]
  resolved: Attribution['resolved']
}

export function checkHistory({ operations, invalidResponses }: History, evidence: Evidence): Verdict {
  const { events, pendingJobs } = evidence
  const { causes, errors, resolved } = attribute(operations.filter(isWrite), evidence)
  const lists = locateLists(operations, events)
  const order = checkOrder({ events, operations, causes, lists: lists.observations })
  const pending = pendingJobs.map(({ name, projectId }) => `${name} of ${projectId} is still pending`)
  return {
    resolved,
    violations: [
      ...violationsOf('every response is documented', invalidResponses),
      ...violationsOf('every write happens once or not at all', errors),
      ...violationsOf('the rows are the result of the events, without a gap', checkRows(evidence)),
      ...violationsOf('an undo reverses exactly the events that it names', checkUndos(events, causes)),
      ...violationsOf('every response shows a state of its time', [
        ...lists.errors,
        ...checkHistories(operations, evidence),
        ...order,
      ]),
      ...violationsOf('no job is lost', pending),
    ],
  }
}
