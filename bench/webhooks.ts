import { openReceiver } from './listener.ts'
import { get, openLoad, post, send, singleKind } from './load.ts'
import { eachOf, numbers, parts, type Probe, tenths, whole } from './probe.ts'
import { createOf, type ResourceRef } from './seed.ts'
import { median, medians, openMeter } from './usage.ts'

const perSecond = 1_000
const quietMs = 2_000

/** Deliveries of a webhook of each project during creates at a steady rate. */
export const webhooks: Probe = {
  name: 'webhooks',
  async measure({ servers, world: { projects }, rounds, seconds }) {
    const { url, sql, pids } = servers
    const receiver = openReceiver()
    const hooks = await createHooks(url, projects, receiver.url)
    const load = await openLoad(servers, singleKind(201, projects.map(createOf)), {
      connections: 64,
      perSecond,
    })
    // The loads alternate, so that other load on the machine affects both.
    const measureRound = async () => {
      await hooks.enable(false)
      await sql`checkpoint`
      const without = await load(seconds)
      await hooks.skipEvents()
      await hooks.enable(true)
      await load(1)
      await Bun.sleep(quietMs)
      await receiver.take()
      const spent = openMeter({ ...pids, web: pids.web(), worker: pids.worker() })
      const during = await load(seconds)
      const delivery = await receiver.take(during.requests)
      return { without, during, delivery, cpu: spent(during.requests) }
    }
    const all = await servers.withWorker(async () => {
      await load(2)
      return Array.fromAsync(numbers(rounds), measureRound)
    })
    await receiver.stop()
    const of = (pick: (round: (typeof all)[number]) => number) => median(all.map(pick))
    const cpu = medians(all.map((round) => round.cpu))
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
    const { body } = await send(server, post(`${project}/webhooks`, token, { url }))
    return { token, project, path: `${project}/webhooks/${body.id}` }
  })
  return {
    enable: (enabled: boolean) =>
      eachOf(hooks, ({ path, token }) => send(server, { method: 'PATCH', path, token, body: { enabled } })),
    /** Moves the cursors to the end, so that earlier events are not counted as late. */
    skipEvents: () =>
      eachOf(hooks, async ({ token, project, path }) => {
        const { headers } = await send(server, get(project, token))
        await send(server, post(`${path}/replay`, token, { after: Number(headers.get('docket-version')) }))
      }),
  }
}
