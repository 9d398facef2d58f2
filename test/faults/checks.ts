import { type Claims, claim } from './check-claims.ts'
import { placeLists } from './check-lists.ts'
import { checkOrder } from './check-order.ts'
import { checkRows } from './check-rows.ts'
import { checkUndone, faultsOfDryRuns } from './check-undone.ts'
import { checkHistories } from './check-histories.ts'
import type { Evidence } from './evidence.ts'
import { broken, type History, isWrite, type Violation } from './history.ts'

export interface Verdict {
  violations: Violation[]
  resolved: Claims['resolved']
}

export function judge({ operations, flaws }: History, evidence: Evidence): Verdict {
  const { facts, owed } = evidence
  const claims = claim(operations.filter(isWrite), evidence)
  const lists = placeLists(operations, facts)
  const order = checkOrder({ facts, operations, makers: claims.makers, lists: lists.seen })
  return {
    resolved: claims.resolved,
    violations: [
      ...broken('every answer is a documented one', flaws),
      ...broken('every write happens once or not at all', claims.faults),
      ...broken('the rows are what the events leave, without a gap', checkRows(evidence)),
      ...broken('an undo takes back what it names, and nothing else', [
        ...checkUndone(facts, claims.makers),
        ...faultsOfDryRuns(operations, facts),
      ]),
      ...broken('every answer shows a state of its time', [
        ...lists.faults,
        ...checkHistories(operations, evidence),
        ...order,
      ]),
      ...broken(
        'no deferred work is lost',
        owed.map(({ name, projectId }) => `${name} of ${projectId} is still owed`),
      ),
    ],
  }
}
