import type { Result } from './campaign.ts'
import { type History, outcomeOf, proofOf, type Violation } from './history.ts'

const maxDetails = 8

export function report(result: Result): string {
  const { history, injector, violations, errorLogs, deliveries } = result
  return [
    ...totals(result),
    ...(deliveries ? [deliveryTotals(deliveries)] : []),
    '',
    table(
      ['fault', 'times', 'ms to full recovery, median', 'max', 'failed attempts, median', 'max'],
      recoveryRows(injector.recoveries, history),
    ),
    ...errorLogs
      .filter(({ errors }) => errors.length > 0)
      .map(({ name, errors }) => `${name} logged ${errors.length} lines: ${errors.at(-1)}`),
    ...violationLines(violations),
    proofLine(history),
  ].join('\n')
}

export function proofLine({ operations }: Pick<History, 'operations'>): string {
  const { known, share, isEnough } = proofOf(operations)
  const line = `${known} of ${operations.length} operations (${Math.floor(share * 100)} %) have a response that was compared with the log`
  return isEnough
    ? line
    : `${line}: TOO FEW, so this run proves nothing. Repeat it on a less busy machine, or with a lower --per-second`
}

function totals({ history: { operations, failures }, evidence, resolved, drainedMs }: Result): string[] {
  const outcomes = Object.groupBy(operations, outcomeOf)
  const count = (outcome: 'done' | 'rejected' | 'unknown') => outcomes[outcome]?.length ?? 0
  const retried = operations.filter(({ failures, status }) => failures.length > 0 && status > 0).length
  const replayed = operations.filter((operation) => operation.replayed).length
  const projects = new Set(evidence.events.map(({ projectId }) => projectId)).size
  return [
    `${operations.length} operations: ${count('done')} done, ${count('rejected')} rejected, ${count('unknown')} unknown`,
    `${failures.length} failed attempts (without those of clients with a short timeout); ` +
      `${retried} operations succeeded on a retry, ${replayed} of them by a replayed response`,
    `unknown writes: ${resolved.applied} took effect, ${resolved.notApplied} did not, ` +
      `${resolved.late} after a retry was rejected`,
    `${evidence.events.length} events in ${projects} projects; ` +
      `${evidence.jobCount} jobs, the last finished ${ms(drainedMs)} after the end`,
  ]
}

function deliveryTotals({ sent, deliveredMs }: NonNullable<Result['deliveries']>): string {
  const { webhooks, deliveries } = sent
  const accepted = deliveries.filter((one) => one.accepted)
  const retries = deliveries.length - new Set(deliveries.map(({ path, id }) => `${path} ${id}`)).size
  const events = deliveries.reduce((sum, { seqs }) => sum + seqs.length, 0)
  return (
    `${webhooks.length} webhooks: ${deliveries.length} deliveries of ${events} events, ${accepted.length} accepted, ` +
    `${retries} retries; the last ${ms(deliveredMs)} after the end`
  )
}

type Rows = (string | number)[][]

function recoveryRows(recoveries: Result['injector']['recoveries'], { failures }: History): Rows {
  return [...Map.groupBy(recoveries, ({ fault }) => fault)].sort().map(([fault, all]) => {
    const times = medianAndMax(all.map(({ began, recovered }) => recovered - began))
    const failed = all.map(
      ({ began, recovered }) =>
        failures.filter(({ start, end }) => start <= recovered && end >= began).length,
    )
    return [fault, all.length, ...times, ...medianAndMax(failed)]
  })
}

function violationLines(violations: Violation[]): string[] {
  const lines = [...Map.groupBy(violations, ({ check }) => check)].flatMap(([check, all]) => {
    const more = all.length > maxDetails ? [`  … and ${all.length - maxDetails} more`] : []
    const details = all.slice(0, maxDetails).map(({ detail }) => `  ${detail}`)
    return ['', `VIOLATED: ${check} (${all.length})`, ...details, ...more]
  })
  return [...lines, '', `${violations.length} violations`]
}

function medianAndMax(values: number[]): (number | string)[] {
  const sorted = values.toSorted((a, b) => a - b)
  if (sorted.length === 0) return ['', '']
  return [Math.round(sorted[Math.floor((sorted.length - 1) / 2)]!), Math.round(sorted.at(-1)!)]
}

const ms = (value: number | undefined) => (value === undefined ? 'NEVER' : `${Math.round(value)} ms`)

function table(head: string[], rows: Rows): string {
  const all = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)))
  const line = (row: string[]) =>
    row.map((cell, i) => (i ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ')
  return [...all.map(line), ''].join('\n')
}
