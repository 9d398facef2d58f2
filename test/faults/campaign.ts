import { until } from '../../src/local/wait.ts'
import { checkDeliveries } from './check-deliveries.ts'
import { checkHistory, type Verdict } from './check-run.ts'
import { finishDeliveries } from './deliveries.ts'
import { type Deployment, openDeployment } from './deployment.ts'
import { type Evidence, readEvidence } from './evidence.ts'
import { type FaultInjector, openFaultInjector } from './fault-injector.ts'
import type { FaultName } from './faults.ts'
import { History, type Violation, violationsOf } from './history.ts'
import { type LoadSize, startLoad } from './load.ts'
import { populate } from './populate.ts'
import { openProbe } from './probe.ts'
import { Random } from './random.ts'
import { RecordingClient } from './recording-client.ts'
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
