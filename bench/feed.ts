import { build } from 'hdr-histogram-js'
import { type Batches, measureBatches } from './batches.ts'
import { storePlan } from './http-load.ts'
import { type StreamReader, openStreams, type Stream } from './streams.ts'
import type { Bench } from './measure.ts'
import { residentMiB } from './process-usage.ts'
import { createOf, singleKind } from './requests.ts'
import { sum } from './scaling.ts'
import type { ResourceRef } from './seed.ts'
import { createAtRate } from './steady-load.ts'
import { type MeasuredRun, ratio, measureRun } from './measured-run.ts'

/** Throughput and processor time of creates with subscribers, compared with the same round without: medians. */
export interface WithSubscribers {
  throughput: number
  cpu: number
  errors: string[]
}

interface Case {
  creates: ResourceRef[]
  streams: Stream[]
  rounds: number
  meanwhile?: () => void
}

export interface Feed {
  writesPerSecond: number
  /** From the response of a create until a subscriber at another process receives the event; at least 0. */
  latencyP50Ms: number
  latencyP99Ms: number
  /** All creates are in one project, which has all subscribers. */
  hot: WithSubscribers
  /** Creates in all projects: one project has subscribers, or each project has one. */
  one: WithSubscribers
  each: WithSubscribers
  idleStreams: number
  idleMiB: number
  idle: WithSubscribers
  listeners: number
  deliveriesPerSecond: number
  batches: Batches
  failures: string[]
}

const writesPerSecond = 1_000
const idleStreams = 10_000
const listeners = 500
const connections = 256
const settleMs = 2_000
const warmUpSeconds = 2

export async function measureFeed(bench: Bench): Promise<Feed> {
  await bench.servers.web(1)
  const latency = await measureLatency(bench)
  const followed = await measureStreams(bench)
  const idle = await measureIdle(bench)
  const deliveriesPerSecond = await measureSaturation(bench)
  const batches = await measureBatches(bench)
  const compareWithSubscribers = [...Object.values(followed), idle.idle]
  return {
    ...{ writesPerSecond, ...latency, ...followed, idleStreams, ...idle, listeners },
    ...{ deliveriesPerSecond, batches, failures: compareWithSubscribers.flatMap(({ errors }) => errors) },
  }
}

const streamOf = ({ id, token }: ResourceRef): Stream => ({ path: `/projects/${id}/events`, token })

/** Measures the delay between a write at one process and its event at another. */
async function measureLatency({ servers, world, options }: Bench) {
  const shared = { DATABASE_URL: servers.databaseUrl, REDIS_PREFIX: 'docket' }
  const other = await servers.beside(1, shared)
  const listening = await openStreams(servers.folder, other.url, world.projects.map(streamOf))
  const madeAt = new Map<string, number>()
  const onMade = ({ headers }: Response) => {
    const id = headers.get('location')?.split('/').at(-1) ?? ''
    madeAt.set(id, performance.timeOrigin + performance.now())
  }
  const load = { url: servers.url, requests: world.projects.map(createOf), perSecond: writesPerSecond }
  await createAtRate({ ...load, seconds: 1 })
  await Bun.sleep(settleMs)
  await listening.heard()
  await createAtRate({ ...load, seconds: options.seconds, onCreated: onMade })
  await Bun.sleep(settleMs)
  const { heardAt } = await listening.heard()
  await listening.stop()
  await other.end()
  const late = build()
  for (const [id, ms] of heardAt)
    if (madeAt.has(id)) late.recordValue(Math.round(Math.max(0, ms - madeAt.get(id)!) * 1_000))
  if (late.totalCount < madeAt.size)
    throw new Error(`${madeAt.size - late.totalCount} creates were not heard of`)
  const at = (percentile: number) => late.getValueAtPercentile(percentile) / 1_000
  return { latencyP50Ms: at(50), latencyP99Ms: at(99) }
}

/** Measures the cost of subscriptions under full write load. The subscribers' own processor time is not counted. */
async function measureStreams(bench: Bench): Promise<Pick<Feed, 'hot' | 'one' | 'each'>> {
  const { projects } = bench.world
  const first = projects.slice(0, 1)
  const { rounds } = bench.options
  return {
    hot: await besides(bench, { creates: first, streams: first.map(streamOf), rounds }),
    one: await besides(bench, { creates: projects, streams: first.map(streamOf), rounds }),
    each: await besides(bench, { creates: projects, streams: projects.map(streamOf), rounds }),
  }
}

async function besides({ servers, loader, options }: Bench, one: Case): Promise<WithSubscribers> {
  const plan = await storePlan(servers.folder, 'feed-creates', singleKind(201, one.creates.map(createOf)))
  const run = (seconds: number) => loader.run({ url: servers.url, plan, connections, seconds })
  await run(warmUpSeconds)
  const [alone, during]: [MeasuredRun[], MeasuredRun[]] = [[], []]
  for (let round = 0; round < one.rounds; round++) {
    await run(1)
    alone.push(await measureRun(servers, () => run(options.seconds)))
    const listening = await openStreams(servers.folder, servers.url, one.streams)
    one.meanwhile?.()
    await run(1)
    during.push(await measureRun(servers, () => run(options.seconds)))
    await listening.stop()
  }
  const errors = [...alone, ...during].flatMap(({ errors }) => errors)
  const throughput = ratio(during, alone)
  const cpu = ratio(during, alone, (run) => sum(run.cpu))
  if (throughput === undefined || cpu === undefined)
    throw new Error(`No round without errors: ${errors.join()}`)
  return { throughput, cpu, errors }
}

async function measureIdle(bench: Bench): Promise<{ idleMiB: number; idle: WithSubscribers }> {
  const { servers, world, options } = bench
  await servers.web(0)
  await servers.web(1) // a fresh process, whose memory has not grown yet
  const { token } = world.projects[0]!
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Quiet' })
  const answer = await fetch(`${servers.url}/api/v1/projects`, { method: 'POST', headers, body })
  const { id } = (await answer.json()) as { id: string }
  const streams: Stream[] = Array(idleStreams).fill({ path: `/projects/${id}/events`, token })
  let idleMiB = 0
  const meanwhile = () => void (idleMiB ||= residentMiB(servers.pids.web()[0]!) ?? 0)
  const { rounds } = options
  const idle = await besides(bench, { creates: world.projects, streams, rounds, meanwhile })
  return { idleMiB, idle }
}

async function measureSaturation({ servers, loader, world, options }: Bench): Promise<number> {
  const [hot] = world.projects
  const plan = await storePlan(servers.folder, 'feed-hot', singleKind(201, [createOf(hot!)]))
  const listening: StreamReader = await openStreams(
    servers.folder,
    servers.url,
    Array(listeners).fill(streamOf(hot!)),
  )
  const run = (seconds: number) => loader.run({ url: servers.url, plan, connections: 64, seconds })
  await run(1)
  await listening.heard()
  const began = performance.now()
  await run(options.seconds)
  const { deliveries } = await listening.heard()
  const perSecond = deliveries / ((performance.now() - began) / 1_000)
  await listening.stop()
  return perSecond
}
