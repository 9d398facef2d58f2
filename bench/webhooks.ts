import { openClient } from '../test/support/client.ts'
import type { Received } from './listener.ts'
import { type LoadRun, runLoad, singleKind, storePlan } from './load.ts'
import { eachOf, parts, type Probe, tenths, whole } from './probe.ts'
import { createOf, make, type ResourceRef } from './seed.ts'
import { startScript } from './tools.ts'
import { median, openMeter } from './usage.ts'

const perSecond = 1_000
const quietMs = 2_000

interface Round {
  without: LoadRun
  during: LoadRun
  delivery: Received
  cpu: Record<string, number>
}

/** Deliveries of a webhook of each project during creates at a steady rate. */
export const webhooks: Probe = {
  name: 'webhooks',
  async measure({ servers, world: { projects }, rounds, seconds }) {
    const { url, folder, sql, pids } = servers
    await servers.web(1)
    const receiver = await startScript('listener.ts')
    const received = async () => JSON.parse(await receiver.ask('received')) as Received
    const hooks = await createHooks(url, projects, receiver.first)
    const plan = await storePlan(folder, 'webhooks', singleKind(201, projects.map(createOf)))
    const load = (seconds: number) => runLoad({ url, plan, connections: 64, seconds, perSecond })
    /** Alternates, so that other load on the machine affects both. */
    const measureRound = async (): Promise<Round> => {
      await hooks.enable(false)
      await sql`checkpoint`
      const without = await load(seconds)
      await hooks.skipEvents()
      await hooks.enable(true)
      await load(1)
      await Bun.sleep(quietMs)
      await received()
      const spent = openMeter({
        web: pids.web(),
        worker: pids.worker(),
        postgres: pids.postgres,
        redis: pids.redis,
      })
      const during = await load(seconds)
      await Bun.sleep(quietMs)
      return { without, during, delivery: await received(), cpu: spent(during.requests) }
    }
    const all = await servers.withWorker(async () => {
      await load(2)
      const all: Round[] = []
      while (all.length < rounds) all.push(await measureRound())
      return all
    })
    await receiver.stop()
    const of = (pick: (round: Round) => number) => median(all.map(pick))
    const cpu = Object.fromEntries(Object.keys(all[0]!.cpu).map((who) => [who, of((one) => one.cpu[who]!)]))
    return {
      sentences: [
        `With ${whole(projects.length)} webhooks and ${whole(perSecond)} creates a second, an event is delivered ` +
          `${whole(of(({ delivery }) => delivery.p50Ms))} ms after its write (p99 ${whole(of(({ delivery }) => delivery.p99Ms))} ms). ` +
          `The p99 of creates is ${tenths(of(({ during }) => during.p99Ms))} ms instead of ${tenths(of(({ without }) => without.p99Ms))}. ` +
          `Both cost ${parts(cpu)} µs (${Object.keys(cpu).join(' · ')}).`,
      ],
      figures: all,
      failures: all.flatMap(({ during: { requests }, delivery: { events } }) =>
        events < requests ? [`${requests - events} events of ${requests} did not arrive`] : [],
      ),
    }
  },
}

/** Creates a webhook of each project. */
async function createHooks(server: string, projects: ResourceRef[], url: string) {
  const hooks = await eachOf(projects, async ({ id, token }) => {
    const project = `/projects/${id}`
    const hook = await make(server, token, `${project}/webhooks`, { url })
    return { client: openClient(server, token), project, path: `${project}/webhooks/${hook.id}` }
  })
  return {
    enable: (enabled: boolean) => eachOf(hooks, ({ client, path }) => client.patch(path, { enabled })),
    /** Moves the cursors to the end, so that earlier events are not counted as late. */
    skipEvents: () =>
      eachOf(hooks, async ({ client, project, path }) => {
        const { headers } = await client.get(project)
        await client.post(`${path}/replay`, { after: Number(headers.get('docket-version')) })
      }),
  }
}
