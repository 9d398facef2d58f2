import { storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import { creation, creationOf100, only } from './requests.ts'
import { sum } from './scaling.ts'
import { type Measured, medians, ratio, watched } from './watch.ts'

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

/** Measures single creates and batches of a hundred in alternating rounds. */
export async function measureBatches({ servers, loader, world, options }: Bench): Promise<Batches> {
  const open = async (name: string, status: number, requestOf: typeof creation) => {
    const plan = await storePlan(servers.folder, name, only(status, world.projects.map(requestOf)))
    const run = (seconds: number) => loader.run({ url: servers.url, plan, connections, seconds })
    await run(warmUpSeconds)
    return () => watched(servers, () => run(options.seconds))
  }
  const one = await open('feed-singles', 201, creation)
  const hundred = await open('feed-batches', 200, creationOf100)
  const [singles, batches]: [Measured[], Measured[]] = [[], []]
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
