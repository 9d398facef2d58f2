import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Flood } from './floods.ts'
import { storePlan } from './http-load.ts'
import { type Neighbours, seedNeighbours } from './neighbours.ts'
import type { ClientLatencies } from './normal-client.ts'
import { residentMiB, watchMemory } from './process-usage.ts'
import { singleKind } from './requests.ts'
import { type Closers, type Servers, startServers } from './servers.ts'
import { runTool } from './tool.ts'

/** Latencies of a normal client: alone, during a flood of the same service, and during a flood of another service. */
export interface Fair {
  title: string
  connections: number
  alone: ClientLatencies
  beside: ClientLatencies
  /** During the same flood of a service with its own Postgres and Redis: the share of processor and disk. */
  elsewhere: ClientLatencies
  floodPerSecond: number
  answers: Record<string, number>
  /** Peak resident memory of the web process during the flood, minus its memory before all floods. */
  memoryMiB: number
}

export type FairBench = Awaited<ReturnType<typeof openFair>>

const connectionCounts = [16, 100, 300]
const warmUpSeconds = 0.5
const restMs = 1_000

export async function openFair(servers: Servers, closers: Closers) {
  const others = await startServers(closers)
  const [near, far] = [await open(servers), await open(others)]
  await measureClient(servers.folder, near.neighbours, 2)
  return { folder: servers.folder, near, far, idleMiB: residentMiB(near.pid) ?? 0 }
}

async function open(servers: Servers) {
  const web = await servers.beside(1, { RATE_LIMIT: 'on', INVITATIONS_PER_HOUR: '100' })
  return { neighbours: await seedNeighbours(web.url), pid: web.pids[0]! }
}

export async function measureFair(bench: FairBench, flood: Flood, seconds: number): Promise<Fair[]> {
  const { folder, near, far, idleMiB } = bench
  const measured: Fair[] = []
  for (const connections of connectionCounts) {
    const under = async (target: Neighbours) => {
      const [answers, waited] = await Promise.all([
        run(folder, flood, target, connections, seconds + 2 * warmUpSeconds),
        Bun.sleep(warmUpSeconds * 1_000).then(() => measureClient(folder, near.neighbours, seconds)),
      ])
      return { answers, waited }
    }
    await Bun.sleep(restMs)
    const alone = await measureClient(folder, near.neighbours, seconds)
    const peakMiB = watchMemory([near.pid])
    const { answers, waited: beside } = await under(near.neighbours)
    const memoryMiB = (peakMiB() ?? 0) - idleMiB
    const { waited: elsewhere } = await under(far.neighbours)
    const total = Object.values(answers).reduce((sum, count) => sum + count, 0)
    const floodPerSecond = total / (seconds + 2 * warmUpSeconds)
    measured.push({
      title: flood.title,
      connections,
      alone,
      beside,
      elsewhere,
      floodPerSecond,
      answers,
      memoryMiB,
    })
  }
  return measured
}

async function run(folder: string, flood: Flood, of: Neighbours, connections: number, seconds: number) {
  const plan = await storePlan(folder, `flood-${flood.name}`, singleKind(200, flood.requests(of)))
  const { output } = await runTool([
    ...script('flood.ts'),
    of.url,
    plan,
    String(connections),
    String(seconds),
  ])
  return JSON.parse(output) as Fair['answers']
}

async function measureClient(
  folder: string,
  { url, politeTasks }: Neighbours,
  seconds: number,
): Promise<ClientLatencies> {
  const file = join(folder, 'polite.json')
  await writeFile(file, JSON.stringify(politeTasks))
  const { output } = await runTool([...script('normal-client.ts'), url, file, String(seconds)])
  return JSON.parse(output) as ClientLatencies
}

const script = (name: string) => [process.execPath, join(import.meta.dirname, name)]
