import { parseArgs } from 'node:util'
import { until } from '../../src/local/wait.ts'
import { checkDeliveries } from './deliveries.ts'
import { checkHistory, type Verdict } from './check-run.ts'
import { finishDeliveries } from './deliveries.ts'
import { type Deployment, openDeployment } from './deployment.ts'
import { type Evidence, readEvidence } from './evidence.ts'
import { endlessFaults, type FaultInjector, openFaultInjector } from './fault-injector.ts'
import { type FaultName, faultNames } from './faults.ts'
import { History, outcomeOf, proofOf, type Violation, violationsOf } from './history.ts'
import { type LoadSize, populate, RecordingClient, startLoad } from './load.ts'
import { openProbe } from './probe.ts'
import { Random } from './random.ts'
import { startWebhookClient } from './webhooks.ts'

const drainTimeoutMs = 60_000

export interface Campaign {
  seed: number
  seconds: number
  webs: number
  withComparison: boolean
  /** The faults of one inner list are injected at the same time. The campaign ends after the last list. */
  faults: (random: Random) => Iterable<FaultName[]>
  pauseMs: [min: number, max: number]
  users: number
  projects: number
  load: LoadSize
  log(line: string): void
}

export interface Result extends Verdict {
  history: History
  injector: FaultInjector
  evidence: Evidence
  /** The time from the end of the load until all jobs were finished; undefined if jobs were left. */
  drainedMs: number | undefined
  deliveries: Awaited<ReturnType<typeof finishDeliveries>> | undefined
  errorLogs: { name: string; errors: string[] }[]
}

/** @param closers Receives the functions that stop all processes, even if the campaign throws. */
export async function run(campaign: Campaign, closers: (() => Promise<unknown>)[]): Promise<Result> {
  const { seed, log, withComparison } = campaign
  const deployment = await openDeployment(closers, campaign)
  const { webs, worker, receivers, env } = deployment
  const urls = webs.map(({ url }) => url)
  log(`web processes at ${urls.join(' and ')}, seed ${seed}`)
  const [history, random] = [new History(), new Random(seed)]
  const client = new RecordingClient(urls, history, random)
  const world = await populate(client, urls[0]!, random, campaign)
  const probe = await openProbe(client, world)
  const injector = openFaultInjector(deployment, probe, random)
  // Without the comparison, two processes write the same seqs, so deliveries have no order to check.
  const webhooks = withComparison
    ? await startWebhookClient(client, world, receivers, new Random(seed + 1))
    : undefined
  const load = startLoad(client, world, seed, campaign.load)
  await injectFaults(campaign, injector, random)
  await load.stop()
  const deliveries = webhooks && (await finishDeliveries(webhooks, deployment, client))
  const stopped = await stopAll(deployment)
  const evidence = await readEvidence(env)
  const { violations, resolved } = checkHistory(history, evidence)
  const deliveryErrors = deliveries ? checkDeliveries(deliveries.sent, evidence) : []
  const errorLogs = [...webs, worker].map(({ name, errors }) => ({ name, errors }))
  return {
    ...{ history, injector, evidence, resolved, errorLogs, deliveries, drainedMs: stopped.drainedMs },
    violations: [
      ...injector.violations,
      ...(deliveries?.violations ?? []),
      ...stopped.violations,
      ...violations,
      ...violationsOf('webhooks receive the log in order', deliveryErrors),
    ],
  }
}

async function injectFaults(
  { seconds, faults, pauseMs, log }: Campaign,
  injector: FaultInjector,
  random: Random,
): Promise<void> {
  const deadline = performance.now() + seconds * 1_000
  const pause = () =>
    Bun.sleep(Math.min(random.between(...pauseMs), Math.max(0, deadline - performance.now())))
  await pause()
  for (const names of faults(random)) {
    if (performance.now() >= deadline) return
    await injector.inject(names)
    const { fault, began, recovered } = injector.recoveries.at(-1)!
    log(`${fault}: full recovery after ${Math.round(recovered - began)} ms`)
    await pause()
  }
}

async function stopAll({ webs, worker, postgres }: Deployment) {
  const late: string[] = []
  const stop = async (process: (typeof webs)[number]) => {
    if (!(await process.stop())) late.push(`${process.name} had to be killed`)
  }
  await Promise.all(webs.map(stop))
  const began = performance.now()
  const isDrained = async () => {
    const [row] = await postgres.query((sql) => sql`select count(*)::int4 as n from outbox`)
    return row?.n === 0 ? true : undefined
  }
  const isDone = await until(isDrained, drainTimeoutMs, { everyMs: 100 })
  const drainedMs = isDone && performance.now() - began
  await stop(worker)
  const violations: Violation[] = violationsOf('a process stops on SIGTERM', late)
  return { violations, drainedMs }
}

export const usage =
  'test:faults [--minutes N | --seconds N] [--webs N] [--per-second N] [--seed S] [--short] [--only FAULT] [--without-comparison]'

/** One fault of each kind. Faults with a long recovery come first. */
const shortFaults: FaultName[][] = [
  ['worker killed'],
  ['leases expired'],
  ['web frozen'],
  ['postgres connections terminated'],
  ['redis frozen'],
  ['postgres backend crashed', 'receivers away'],
  ['redis killed, back empty'],
  ['web killed'],
  ['postgres torn down'],
]
/** Faults after which two processes write one project at the same time. */
const leaseFaults: FaultName[][] = [
  ...[['leases stolen'], ['leases expired'], ['web frozen']],
  ...[['leases stolen'], ['leases expired'], ['leases stolen']],
] as FaultName[][]

const maxOperations = 400_000
const repeat = (faults: FaultName[][]) => Array.from({ length: 1_000 }, () => faults).flat()

export interface Options extends Omit<Campaign, 'log'> {}

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      webs: { type: 'string', default: '2' },
      'per-second': { type: 'string' },
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      'without-comparison': { type: 'boolean', default: false },
    },
  })
  const only = faultNames.find((name) => name === values.only)
  if (values.only && !only) throw new TypeError(`--only must be one of: ${faultNames.join(', ')}`)
  const webs = Number(values.webs)
  if (!(webs >= 2 && webs <= 8)) throw new TypeError('--webs must be a number from 2 to 8')
  const withComparison = !values['without-comparison']
  const fallback = withComparison && !values.short ? 120 : 30
  const seconds = Number(values.seconds ?? Number(values.minutes) * 60) || fallback
  const most = Number(values['per-second']) || (values.short ? 300 : 600)
  const perSecond = Math.min(most, maxOperations / seconds)
  const faults = (random: Random) => {
    if (only) return repeat([[only]])
    if (!withComparison) return repeat(leaseFaults)
    return values.short ? shortFaults : endlessFaults(random)
  }
  return {
    seed: Number(values.seed ?? Math.floor(Math.random() * 1_000_000)),
    seconds,
    webs,
    withComparison,
    faults,
    pauseMs: values.short || !withComparison ? [100, 300] : [300, 2_000],
    users: values.short ? 16 : 32,
    projects: 6,
    load: { clients: 40, perSecond, maxOperations },
  }
}

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
