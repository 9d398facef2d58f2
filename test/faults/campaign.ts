import { until } from '../../src/local/wait.ts'
import { Caller } from './caller.ts'
import { checkDeliveries } from './check-deliveries.ts'
import { judge, type Verdict } from './checks.ts'
import { finishDeliveries } from './deliveries.ts'
import { type Evidence, gather } from './evidence.ts'
import type { FaultName } from './faults.ts'
import { broken, History, type Violation } from './history.ts'
import { keepHooks } from './hooks.ts'
import { type LoadSize, startLoad } from './load.ts'
import { type Nemesis, openNemesis } from './nemesis.ts'
import { populate } from './population.ts'
import { openProbe } from './probe.ts'
import { Random } from './random.ts'
import { openStand, type Stand } from './stand.ts'

const drainTimeoutMs = 60_000

export interface Campaign {
  seed: number
  seconds: number
  webs: number
  withComparison: boolean
  /** The faults one after another, some of them at the same time; it also ends with the last of them. */
  faults: (random: Random) => Iterable<FaultName[]>
  pauseMs: [least: number, most: number]
  users: number
  projects: number
  load: LoadSize
  say(line: string): void
}

export interface Result extends Verdict {
  history: History
  nemesis: Nemesis
  evidence: Evidence
  /** How long the worker took to do what was owed at the end; undefined when it did not. */
  drainedMs: number | undefined
  deliveries: Awaited<ReturnType<typeof finishDeliveries>> | undefined
  complaints: { name: string; count: number; last: string[] }[]
}

/** Faults under load, and then the reckoning. `closers` get what ends everything, whatever happens. */
export async function run(campaign: Campaign, closers: (() => Promise<unknown>)[]): Promise<Result> {
  const { seed, say } = campaign
  const stand = await openStand(closers, campaign)
  say(`web processes at ${stand.webs.map(({ url }) => url).join(' and ')}, seed ${seed}`)
  const [history, random] = [new History(), new Random(seed)]
  const caller = new Caller(
    stand.webs.map(({ url }) => url),
    history,
    random,
  )
  const world = await populate(caller, stand.webs[0]!.url, random, campaign)
  const probe = await openProbe(caller, world)
  const nemesis = openNemesis(stand, probe, random)
  // What is sent of a log that two wrote at once is no log.
  const keeper = campaign.withComparison
    ? await keepHooks(caller, world, stand.receivers, new Random(seed + 1))
    : undefined
  const load = startLoad(caller, world, seed, campaign.load)
  await rage(campaign, nemesis, random)
  await load.stop()
  const deliveries = keeper && (await finishDeliveries(keeper, stand, caller))
  const settled = await settle(stand)
  const evidence = await gather(stand.env)
  const { violations, resolved } = judge(history, evidence)
  const all = [
    ...nemesis.violations,
    ...(deliveries?.violations ?? []),
    ...settled.violations,
    ...violations,
    ...broken('webhooks get the log, in order', deliveries ? checkDeliveries(deliveries.sent, evidence) : []),
  ]
  const complaints = [...stand.webs, stand.worker].map(({ name, errorCount: count, errors: last }) => ({
    name,
    count,
    last,
  }))
  const { drainedMs } = settled
  return { history, nemesis, evidence, resolved, violations: all, complaints, drainedMs, deliveries }
}

async function rage(
  { seconds, faults, pauseMs, say }: Campaign,
  nemesis: Nemesis,
  random: Random,
): Promise<void> {
  const deadline = performance.now() + seconds * 1_000
  const rest = () =>
    Bun.sleep(Math.min(random.between(...pauseMs), Math.max(0, deadline - performance.now())))
  await rest()
  for (const names of faults(random)) {
    if (performance.now() >= deadline) return
    await nemesis.strike(names)
    const { fault, began, recovered } = nemesis.recoveries.at(-1)!
    say(`${fault}: full service after ${Math.round(recovered - began)} ms`)
    await rest()
  }
}

async function settle({ webs, worker, postgres }: Stand) {
  const violations: Violation[] = []
  const stopped = await Promise.all(webs.map((web) => web.stop()))
  for (const [i, inTime] of stopped.entries())
    if (!inTime) violations.push({ check: 'a process stops when told', detail: `${webs[i]!.name} did not` })
  const began = performance.now()
  const isDone = async () => {
    const [row] = await postgres.ask((sql) => sql<{ n: number }[]>`select count(*)::int4 as n from outbox`)
    return row?.n === 0 ? true : undefined
  }
  const drained = await until(isDone, drainTimeoutMs, { everyMs: 100 })
  const drainedMs = drained && performance.now() - began
  if (!(await worker.stop()))
    violations.push({ check: 'a process stops when told', detail: 'the worker did not' })
  return { violations, drainedMs }
}
