import { checkOrder } from './check-order.ts'
import { checkRows } from './check-rows.ts'
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
