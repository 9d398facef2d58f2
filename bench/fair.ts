import { fresh, get, openLoad, type PlannedRequest, post, send, singleKind } from './load.ts'
import { eachOf, numbers, type Probe, tenths, whole } from './probe.ts'
import { createOf, getTask, newProject, newTask, newUser, renameOf, type ResourceRef } from './seed.ts'
import { type Servers, startServers } from './servers.ts'
import { repeatUntil } from './usage.ts'

/** An account that floods a service, and a normal account. */
interface Neighbours {
  url: string
  token: string
  projects: ResourceRef[]
  /** A project of the flooding account with more than 5,000 events. */
  large: { id: string; version: number }
  /** A task of the normal account. */
  polite: ResourceRef
}

const creates = (count: number) => ({
  operations: numbers(count).map((n) => ({ op: 'task.create', title: `Task ${n}` })),
})

/** Each connection repeats these requests. */
const floods: Record<string, (of: Neighbours) => PlannedRequest[]> = {
  'rejected creates': ({ projects }) => [{ ...createOf(projects[0]!), body: { title: 7 } }],
  'reads of another account’s task': ({ polite, token }) => [getTask({ ...polite, token })],
  'undos by a non-member': ({ polite, token }) => [
    post(`/projects/${polite.projectId}/undo`, token, { seqs: [1] }),
  ],
  'sign-ins with bodies of 1 MB': () => [
    post('/auth/login', '', { email: numbers(320_000).map(() => []), password: 'x' }),
  ],
  'sign-ins with invented addresses': () => [
    post('/auth/login', '', { email: `nobody-${fresh}@example.com`, password: 'secret-1' }),
  ],
  'lists of 200 tasks': ({ large, token }) => [
    get(`/tasks?projectId=${large.id}&status=TODO&sort=-dueDate&limit=200`, token),
  ],
  'lists with `asOf` 4,750 events ago': ({ large: { id, version }, token }) => [
    get(`/tasks?projectId=${id}&asOf=${version - 4_750}`, token),
  ],
  '`POST /events/read` of 1,000 projects': ({ projects, token }) => [
    post('/events/read', token, { after: Object.fromEntries(projects.map(({ id }) => [id, 0])), limit: 500 }),
  ],
  'dry runs of undos of 250 events': ({ large: { id, version }, token }) => [
    post(`/projects/${id}/undo?dryRun=true`, token, { seqs: numbers(250).map((n) => version - n) }),
  ],
  creates: ({ projects }) => projects.slice(0, 20).map(createOf),
  'batches of 500 creates': ({ projects }) =>
    projects.slice(0, 20).map(({ id, token }) => post(`/projects/${id}/batch`, token, creates(500))),
}

const connections = 300
const everyMs = 20
const head = [
  ...['flood', 'read, p95 ms: alone → during', 'elsewhere'],
  ...['patch: alone → during', 'elsewhere', 'req/s'],
]

/**
 * The p95 of an account with 50 reads and 50 patches a second: alone, during a flood from another account, and during the
 * same flood of a service with its own Postgres and Redis, which only takes its share of the machine.
 */
export const fair: Probe = {
  name: 'fair',
  async measure({ servers, closers, seconds }) {
    const [near, far] = [await open(servers), await open(await startServers(closers))]
    const figures: Record<string, unknown>[] = []
    const rows: string[][] = []
    for (const [title, requests] of Object.entries(floods)) {
      const during = async (target: Neighbours) => {
        const plan = singleKind(200, requests(target))
        const flood = await openLoad(servers, plan, { url: target.url, connections, mayFail: true })
        const load = flood(seconds)
        return { client: await measureClient(near, load), perSecond: (await load).perSecond }
      }
      const alone = await measureClient(near, Bun.sleep(seconds * 1_000))
      const [beside, elsewhere] = [await during(near), await during(far)]
      figures.push({ title, alone, beside, elsewhere })
      const cells = (of: 'readP95Ms' | 'patchP95Ms') => [
        `${tenths(alone[of])} → ${tenths(beside.client[of])}`,
        tenths(elsewhere.client[of]),
      ]
      rows.push([title, ...cells('readP95Ms'), ...cells('patchP95Ms'), whole(beside.perSecond)])
    }
    return { table: { head, rows }, figures }
  },
}

async function measureClient({ url, polite }: Neighbours, load: Promise<unknown>) {
  const patch = (n: number) => ({ ...renameOf(polite), body: { title: `Patched ${n}` } })
  const sends = [() => send(url, getTask(polite)), (n: number) => send(url, patch(n))]
  const [reads, patches] = await repeatUntil(load, everyMs, sends)
  return { readP95Ms: reads!.ms(95), patchP95Ms: patches!.ms(95) }
}

async function open(servers: Servers): Promise<Neighbours> {
  const { url } = await servers.beside(1, { RATE_LIMIT: 'on' })
  const [flooder, other] = [await newUser(url), await newUser(url)]
  const projects = await eachOf(numbers(1_000), () => newProject(url, flooder))
  const polite = await newTask(url, await newProject(url, other))
  return { url, token: flooder.token, projects, large: await makeLarge(url, projects[999]!), polite }
}

async function makeLarge(url: string, { id, token }: ResourceRef): Promise<Neighbours['large']> {
  const run = (body: object) => send(url, post(`/projects/${id}/batch`, token, body))
  for (let n = 0; n < 10; n++) {
    const { results } = (await run(creates(250))).body as unknown as { results: { id: string }[] }
    await run({ operations: results.map((task) => ({ op: 'task.update', id: task.id, title: 'Renamed' })) })
  }
  const { headers } = await send(url, get(`/projects/${id}`, token))
  return { id, version: Number(headers.get('docket-version')) }
}
