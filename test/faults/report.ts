import type { Result } from './campaign.ts'
import { type History, outcomeOf, type Violation } from './history.ts'
import type { Recovery } from './nemesis.ts'

const mostDetails = 8

export function report({
  history,
  nemesis,
  evidence,
  resolved,
  violations,
  drainedMs,
  complaints,
  deliveries,
}: Result): string {
  const { operations, failures } = history
  const outcomes = Object.groupBy(operations, outcomeOf)
  const count = (outcome: 'done' | 'refused' | 'unknown') => outcomes[outcome]?.length ?? 0
  const retried = operations.filter(({ failures, status }) => failures.length > 0 && status > 0).length
  const replayed = operations.filter((operation) => operation.replayed).length
  return [
    table(['operations', 'done', 'refused', 'unknown'], kindsOf(history)),
    `${operations.length} operations: ${count('done')} done, ${count('refused')} refused, ${count('unknown')} unknown`,
    `${failures.length} tries without an answer or with 503 (beside those given up after a moment); ${retried} operations answered by a later try, ` +
      `${replayed} of them by the answer kept under their key`,
    `unknown writes resolved: ${resolved.applied} took effect, ${resolved.notApplied} did not, ` +
      `${resolved.late} after a later try was refused`,
    `${evidence.facts.length} events in ${new Set(evidence.facts.map(({ projectId }) => projectId)).size} projects; ` +
      `${evidence.posted} pieces of deferred work, the last done ${ms(drainedMs)} after the end`,
    ...(deliveries ? [sentOf(deliveries)] : []),
    '',
    table(
      ['fault', 'times', 'to full service, median ms', 'max', 'tries failed, median', 'max'],
      recoveriesOf(nemesis.recoveries, history),
    ),
    table(['also', 'times', 'median ms', 'max ms', 'never'], notesOf(nemesis.notes)),
    ...complaints
      .filter(({ count }) => count > 0)
      .map(({ name, count, last }) => `${name} logged ${count} lines: ${last.at(-1)}`),
    ...violationsOf(violations),
  ].join('\n')
}

function sentOf({ sent: { hooks, received }, deliveredMs }: NonNullable<Result['deliveries']>): string {
  const accepted = received.filter((one) => one.accepted)
  const again = received.length - new Set(received.map(({ path, id }) => `${path} ${id}`)).size
  const events = received.reduce((sum, { seqs }) => sum + seqs.length, 0)
  return (
    `${hooks.length} webhooks: ${received.length} deliveries of ${events} events came, ${accepted.length} were accepted, ` +
    `${again} came again; the last ${ms(deliveredMs)} after the end`
  )
}

/** How long each fault was felt, and how many tries failed meanwhile. */
function recoveriesOf(recoveries: Recovery[], { failures }: History): (string | number)[][] {
  const felt = ({ began, recovered }: Recovery) =>
    failures.filter(({ start, end }) => start <= recovered && end >= began).length
  return [...Map.groupBy(recoveries, ({ fault }) => fault)].sort().map(([fault, all]) => {
    const times = spread(all.map(({ began, recovered }) => recovered - began))
    return [fault, all.length, ...times, ...spread(all.map(felt))]
  })
}

function notesOf(notes: { what: string; ms: number | undefined }[]): (string | number)[][] {
  return [...Map.groupBy(notes, ({ what }) => what)].sort().map(([what, all]) => {
    const known = all.flatMap((note) => note.ms ?? [])
    return [what, all.length, ...spread(known), all.length - known.length]
  })
}

function kindsOf({ operations }: History): (string | number)[][] {
  return [...Map.groupBy(operations, ({ kind }) => kind)].sort().map(([kind, all]) => {
    const outcomes = all.map(outcomeOf)
    const tally = (outcome: string) => outcomes.filter((one) => one === outcome).length
    return [kind, tally('done'), tally('refused'), tally('unknown')]
  })
}

function violationsOf(violations: Violation[]): string[] {
  const byCheck = [...Map.groupBy(violations, ({ check }) => check)]
  const lines = byCheck.flatMap(([check, all]) => {
    const more = all.length > mostDetails ? [`  … and ${all.length - mostDetails} more`] : []
    return [
      '',
      `BROKEN: ${check} (${all.length})`,
      ...all.slice(0, mostDetails).map(({ detail }) => `  ${detail}`),
      ...more,
    ]
  })
  return [...lines, '', `${violations.length} violations`]
}

function spread(values: number[]): (number | string)[] {
  const sorted = values.toSorted((a, b) => a - b)
  if (sorted.length === 0) return ['', '']
  return [Math.round(sorted[Math.floor((sorted.length - 1) / 2)]!), Math.round(sorted.at(-1)!)]
}

const ms = (value: number | undefined) => (value === undefined ? 'NEVER' : `${Math.round(value)} ms`)

function table(head: string[], rows: (string | number)[][]): string {
  const all = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)))
  const line = (row: string[]) =>
    row.map((cell, i) => (i ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ')
  return [...all.map(line), ''].join('\n')
}
