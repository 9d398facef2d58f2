import { openStreams } from './listener.ts'
import { fresh, openLoad, type PlannedRequest, post, singleKind } from './load.ts'
import { type Bench, numbers, percent, type Probe, tenths, whole } from './probe.ts'
import { createOf, newProject, type ResourceRef } from './seed.ts'
import { median, residentMiB } from './usage.ts'

const perSecond = 1_000
const [idleStreams, listeners] = [10_000, 500]
const settleMs = 2_000

/** Streams of projects during creates, and batches. */
export const feed: Probe = {
  name: 'feed',
  async measure(bench) {
    const { servers, world, seconds } = bench
    const { projects } = world
    const late = await measureLatency(bench)
    const each = await measureBeside(bench, projects)
    await servers.web(0)
    await servers.web(1) // a new process, whose memory has not grown yet
    const quiet = await newProject(servers.url, projects[0]!)
    const idle = await measureBeside(bench, new Array<ResourceRef>(idleStreams).fill(quiet))
    const busy = await openStreams(servers.url, new Array<ResourceRef>(listeners).fill(projects[0]!))
    await runOnce(bench, [createOf(projects[0]!)])
    const { events } = await busy.take()
    busy.stop()
    const batch = await runOnce(bench, projects.map(batchOf100), 200)
    const single = await runOnce(bench, projects.map(createOf))
    const times = (batch.perSecond * 100) / single.perSecond
    return {
      headline:
        `An event reaches a stream of another process ${late.p50Ms} ms (p50) or ${late.p99Ms} ms (p99) after its write, at ` +
        `${whole(perSecond)} creates a second.`,
      sentences: [
        `With a stream of each project, creates keep ${percent(each.rate)} of their rate; the subscribers share the machine.`,
        `${whole(idleStreams)} idle streams take ${whole(idle.growthMiB)} MiB, and creates keep ${percent(idle.rate)} of their rate.`,
        `${listeners} streams of one project receive ${whole(events / seconds)} events a second.`,
        `Batches of 100 create ${whole(batch.perSecond * 100)} tasks a second, ${tenths(times)} times as many as single creates.`,
      ],
      figures: { late, each, idle, eventsPerSecond: events / seconds, batch, single },
      failures: [...each.errors, ...idle.errors, ...batch.errors, ...single.errors],
    }
  },
}

/** Measures the time from a write at one process until its event at another. */
async function measureLatency(bench: Bench) {
  const { servers, world, seconds } = bench
  const other = await servers.beside(1, { DATABASE_URL: servers.databaseUrl, REDIS_PREFIX: 'docket' })
  const streams = await openStreams(other.url, world.projects)
  const load = await loadOf(bench, world.projects.map(createOf), 64, 201, perSecond)
  await load(1)
  await Bun.sleep(settleMs)
  await streams.take()
  const { requests } = await load(seconds)
  const late = await streams.take(requests)
  streams.stop()
  await other.end()
  if (late.events < requests)
    throw new Error(`${requests - late.events} events of ${requests} did not arrive`)
  return late
}

/** Measures creates with and without streams. `growthMiB`: of the web process when all streams are open. */
async function measureBeside(bench: Bench, streams: ResourceRef[]) {
  const { servers, world, rounds, seconds } = bench
  const load = await loadOf(bench, world.projects.map(createOf), 256)
  const memory = () => residentMiB(servers.pids.web()[0]!)
  await load(2)
  let growthMiB = 0
  const runs = await Array.fromAsync(numbers(rounds), async () => {
    const alone = await load(seconds)
    const before = memory()
    const listening = await openStreams(servers.url, streams)
    growthMiB ||= memory() - before
    await load(1)
    const beside = await load(seconds)
    listening.stop()
    return [alone, beside] as const
  })
  const rate = median(runs.map(([alone, beside]) => beside.perSecond / alone.perSecond))
  return { rate, growthMiB, errors: runs.flat().flatMap(({ errors }) => errors) }
}

const loadOf = (
  { servers }: Bench,
  requests: PlannedRequest[],
  connections: number,
  status = 201,
  rate = 0,
) => openLoad(servers, singleKind(status, requests), { connections, perSecond: rate })

const runOnce = async (bench: Bench, requests: PlannedRequest[], status = 201) =>
  (await loadOf(bench, requests, 64, status))(bench.seconds)

const batchOf100 = ({ id, token }: ResourceRef) =>
  post(`/projects/${id}/batch`, token, {
    operations: numbers(100).map((n) => ({
      ...{ op: 'task.create', title: n ? `Task ${n}` : `Task ${fresh}`, description: 'To be measured' },
    })),
  })
