import { storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import { createOf, batchOf100, singleKind } from './requests.ts'
import { sum } from './scaling.ts'
import { type MeasuredRun, medians, ratio, measureRun } from './measured-run.ts'

/** Tasks created by single requests and by batches of a hundred: medians, and medians of the ratios. */
export interface Batches {
  singles: number
  batched: number
  timesAsMany: number
  /** Processor time in microseconds per task. */
  singleMicros: number
  batchedMicros: number
}

const connections = 64
const tasks = 100
const warmUpSeconds = 2

export async function measureBatches({ servers, loader, world, options }: Bench): Promise<Batches> {
  const open = async (name: string, status: number, requestOf: typeof createOf) => {
    const plan = await storePlan(servers.folder, name, singleKind(status, world.projects.map(requestOf)))
    const run = (seconds: number) => loader.run({ url: servers.url, plan, connections, seconds })
    await run(warmUpSeconds)
    return () => measureRun(servers, () => run(options.seconds))
  }
  const one = await open('feed-singles', 201, createOf)
  const hundred = await open('feed-batches', 200, batchOf100)
  const [singles, batches]: [MeasuredRun[], MeasuredRun[]] = [[], []]
  for (let round = 0; round < options.rounds; round++) {
    singles.push(await one())
    batches.push(await hundred())
  }
  const [single, batch] = [medians(singles), medians(batches)]
  const times = ratio(batches, singles)
  if (!single || !batch || times === undefined) throw new Error('No round of batches without errors')
  return {
    singles: single.perSecond,
    batched: tasks * batch.perSecond,
    timesAsMany: tasks * times,
    singleMicros: sum(single.cpu),
    batchedMicros: sum(batch.cpu) / tasks,
  }
}
