import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build, type Histogram } from 'hdr-histogram-js'
import { openClient } from '../test/support/client.ts'
import type { Bench } from './measure.ts'
import { cpuMicros } from './process-usage.ts'
import { creation } from './requests.ts'
import { eachOf, type Seeded } from './seed.ts'
import { createSteadily } from './steadily.ts'

export interface Webhooks {
  webhooks: number
  writesPerSecond: number
  /** From the commit of an event until its receiver has it. */
  deliveryP50Ms: number
  deliveryP99Ms: number
  delivered: number
  expected: number
  /** Of creates, with the webhooks disabled and enabled. */
  without: Creates
  with: Creates
  /** Processor time for each create with its delivery, in microseconds. */
  cpu: Record<string, number>
  failures: string[]
}

interface Creates {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

const wanted = { writesPerSecond: 1000, patienceMs: 15_000 }

/** A webhook for each project, and creates in all of them at a steady rate: how soon they are delivered, and at what cost. */
export async function measureWebhooks({ servers, world, options }: Bench): Promise<Webhooks> {
  await servers.web(1)
  const { projects } = world
  const receiver = await openReceiver()
  const hooks = await eachOf(projects, (project) => makeHook(servers.url, project, receiver.url))
  const requests = projects.map(creation)
  const enable = (enabled: boolean) =>
    eachOf(hooks, ({ path, token }) => openClient(servers.url, token).patch(path, { enabled }))
  const { writesPerSecond: perSecond } = wanted
  const load = (seconds: number) => createSteadily({ url: servers.url, requests, seconds, perSecond })
  return servers.withWorker(async () => {
    await load(2)
    await enable(false)
    const without = await load(options.seconds)
    // What happened meanwhile is not to be counted as late.
    await eachOf(hooks, ({ path, token, id }) => leaveOut(servers.url, { path, token, id }))
    await enable(true)
    await load(1)
    await receiver.settled(wanted.patienceMs)
    receiver.reset()
    const spent = openMeter(servers.pids)
    const during = await load(options.seconds)
    await receiver.settled(wanted.patienceMs)
    const cpu = spent(during.total)
    const { seen, late } = receiver
    const { total, ...figures } = during
    const failures = seen() < total ? [`${total - seen()} events of ${total} did not arrive`] : []
    await receiver.close()
    return {
      ...{ webhooks: hooks.length, writesPerSecond: wanted.writesPerSecond, failures },
      ...{ deliveryP50Ms: late().getValueAtPercentile(50), deliveryP99Ms: late().getValueAtPercentile(99) },
      ...{ delivered: seen(), expected: total, with: figures, without, cpu },
    }
  })
}

function openMeter({ web, worker, postgres, redis }: Bench['servers']['pids']) {
  const pids = { web: web(), worker: worker(), postgres, redis }
  const read = () => Object.entries(pids).map(([name, some]) => [name, cpuMicros(some) ?? 0] as const)
  const before = read()
  return (count: number): Record<string, number> =>
    Object.fromEntries(read().map(([name, now], n) => [name, (now - before[n]![1]) / count]))
}

interface Hook {
  id: string
  path: string
  token: string
}

async function makeHook(server: string, { id, token }: Seeded, url: string): Promise<Hook> {
  const answer = await openClient(server, token).post(`/projects/${id}/webhooks`, { url })
  if (answer.status !== 201) throw new Error(`A webhook was answered ${answer.status} ${answer.text}`)
  return { id, token, path: `/projects/${id}/webhooks/${answer.body.id}` }
}

async function leaveOut(server: string, { path, token, id }: Hook): Promise<void> {
  const client = openClient(server, token)
  const { headers } = await client.get(`/projects/${id}`)
  await client.post(`${path}/replay`, { after: Number(headers.get('docket-version')) })
}

/** Notes how late each event is when it comes: service and receiver have one clock. */
async function openReceiver() {
  let late: Histogram = build()
  let [seen, lastAt] = [0, performance.now()]
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    response.writeHead(204).end()
    const { data } = JSON.parse(text) as { data: { events: { at: string }[] } }
    for (const { at } of data.events) late.recordValue(Math.max(Date.now() - Date.parse(at), 0))
    seen += data.events.length
    lastAt = performance.now()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    seen: () => seen,
    late: () => late,
    reset: () => ([late, seen] = [build(), 0]),
    /** Until nothing has come for a second. */
    async settled(withinMs: number): Promise<void> {
      const end = performance.now() + withinMs
      await Bun.sleep(1_000)
      while (performance.now() < end && performance.now() - lastAt < 1_000) await Bun.sleep(100)
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
