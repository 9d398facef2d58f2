import { enable, skipEvents, createWebhooks } from './webhook-setup.ts'
import type { Bench } from './measure.ts'
import { median } from './median.ts'
import { cpuMicros } from './process-usage.ts'
import { type DeliveryStats, openReceiver } from './receiving.ts'
import { createOf } from './requests.ts'
import { createAtRate } from './steady-load.ts'

export interface Webhooks {
  webhooks: number
  writesPerSecond: number
  /** Medians of the rounds, like the fields below. */
  delivery: DeliveryStats
  without: Creates
  with: Creates
  ratio: number
  /** Processor time of a create with its delivery, in microseconds. */
  cpu: Record<string, number>
  failures: string[]
}

interface Creates {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

interface Round extends Pick<Webhooks, 'delivery' | 'without' | 'with' | 'cpu'> {
  total: number
}

const wanted = { writesPerSecond: 1000, patienceMs: 15_000, warmUpSeconds: 5 }

/** Measures the delay and cost of deliveries: a webhook for each project, and creates at a steady rate. */
export async function measureWebhooks({ servers, world, options }: Bench): Promise<Webhooks> {
  await servers.web(1)
  const receiver = await openReceiver()
  const hooks = await createWebhooks(servers.url, world.projects, receiver.url)
  const requests = world.projects.map(createOf)
  const { writesPerSecond: perSecond, patienceMs, warmUpSeconds } = wanted
  const load = (seconds: number) => createAtRate({ url: servers.url, requests, seconds, perSecond })

  /** Alternates, so that other load on the machine affects both. */
  async function round(): Promise<Round> {
    await enable(servers.url, hooks, false)
    await servers.sql`checkpoint`
    const without = await load(options.seconds)
    // Events from before are not counted as late.
    await skipEvents(servers.url, hooks)
    await enable(servers.url, hooks, true)
    await load(1)
    await receiver.settled(patienceMs)
    await receiver.begin()
    const spent = openMeter(servers.pids)
    const { total, ...during } = await load(options.seconds)
    const delivery = await receiver.settled(patienceMs)
    return { delivery, without, with: during, cpu: spent(total), total }
  }

  return servers.withWorker(async () => {
    await load(warmUpSeconds)
    const rounds: Round[] = []
    while (rounds.length < options.rounds) rounds.push(await round())
    await receiver.stop()
    return { webhooks: hooks.length, writesPerSecond: perSecond, ...summary(rounds) }
  })
}

function summary(rounds: Round[]) {
  const failures = rounds
    .filter(({ delivery, total }) => delivery.events < total)
    .map(({ delivery, total }) => `${total - delivery.events} events of ${total} did not arrive`)
  return {
    delivery: medians(rounds.map(({ delivery }) => ({ ...delivery }))),
    without: medians(rounds.map(({ without: { perSecond, p50Ms, p99Ms } }) => ({ perSecond, p50Ms, p99Ms }))),
    with: medians(rounds.map((one) => one.with)),
    ratio: median(rounds.map((one) => one.with.perSecond / one.without.perSecond)),
    cpu: medians(rounds.map(({ cpu }) => cpu)),
    failures,
  }
}

const medians = <K extends string>(all: Record<K, number>[]) =>
  Object.fromEntries(
    Object.keys(all[0]!).map((name) => [name, median(all.map((one) => one[name as K]))]),
  ) as Record<K, number>

function openMeter({ web, worker, postgres, redis }: Bench['servers']['pids']) {
  const pids = { web: web(), worker: worker(), postgres, redis }
  const read = () => Object.entries(pids).map(([name, some]) => [name, cpuMicros(some) ?? 0] as const)
  const before = read()
  return (count: number): Record<string, number> =>
    Object.fromEntries(read().map(([name, now], n) => [name, (now - before[n]![1]) / count]))
}
