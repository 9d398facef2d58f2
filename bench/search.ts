import { type LargeData, openLargeData, openWords, type Project, size } from './large-data.ts'
import { fresh, get, openLoad, type PlannedRequest, post, send, singleKind } from './load.ts'
import { type Bench, numbers, percent, type Probe, tenths, whole } from './probe.ts'
import type { Servers } from './servers.ts'
import { openTimes, repeatUntil, type Times, timesOf } from './usage.ts'

/** Whether a task of the project is in the scope. The first project is the large one. */
const scopes: Record<string, (project: number) => boolean> = {
  'a small project': (project) => project > 0,
  'the large project': (project) => project === 0,
  '20 projects': (project) => project > 0 && project <= 20,
  '500 projects': () => true,
}
const scopeNames = Object.keys(scopes)
const head = ['first page, ms: p50 / p95', ...scopeNames]
const counts = { warmUp: 5, measured: 50 }
const burst = { perSecond: 8_000, connections: 1_024 }
const burstSeconds = 60

/** Searches of 1,000,000 tasks of 46 words, alone and beside creates. */
export const search: Probe = {
  name: 'search',
  async measure(bench) {
    const { servers, seconds } = bench
    const data = await openLargeData(servers)
    const creates = singleKind(201, createsOf(data))
    const load = await openLoad(servers, creates, { connections: 256 })
    await load(seconds)
    const without = await load(seconds)
    const began = performance.now()
    return servers.withWorker(async () => {
      await untilIndexed(servers)
      const fillSeconds = (performance.now() - began) / 1_000
      await servers.sql`vacuum analyze`
      const alone = await measureKinds(servers.url, data, searches)
      const beside = await measureBeside(bench, data, await openLoad(servers, creates, burst))
      await untilIndexed(servers)
      const [row] = await servers.sql<{ missing: number }[]>`
        select count(*)::int4 as missing from tasks t where not exists (select from search_documents s where s.id = t.id)`
      const indexed = await load(seconds)
      const rows = [...alone, ['all kinds, beside creates', ...beside.taken.map(cellOf)]]
      return {
        headline:
          `Beside ${whole(beside.perSecond)} creates a second, ${beside.created - beside.notFound} of ${beside.created} tasks were ` +
          `found by the search after their create, and no search was answered 503.`,
        sentences: [
          `The first fill of the search index of ${whole(size.tasks)} tasks takes ${whole(fillSeconds)} s. Beside creates, ` +
            `${beside.behind} searches were behind; then ${row!.missing} tasks are missing in the index. With a worker that ` +
            `indexes them, creates have ${percent(indexed.perSecond / without.perSecond)} of their rate.`,
        ],
        table: { head, rows },
        figures: { fillSeconds, beside: { ...beside, taken: undefined }, without, indexed },
        failures: [...without.errors, ...indexed.errors, ...beside.errors],
      }
    })
  },
}

/** The first page of each filter. */
export const filters: Probe = {
  name: 'filters',
  async measure({ servers }) {
    const data = await openLargeData(servers)
    const rows = await measureKinds(servers.url, data, lists)
    rows.push(...(await measureKinds(servers.url, data, listsOfProject, scopeNames.slice(0, 2))))
    return { table: { head, rows }, figures: rows }
  },
}

const cellOf = (times: Times) => `${tenths(times.ms(50))} / ${tenths(times.ms(95))}`

/** Creates of tasks with the words of the data. Many accounts create, because an account has at most 16 requests in progress. */
function createsOf({ writers, projects }: LargeData): PlannedRequest[] {
  const text = openWords()
  return numbers(5_000).map((n) => {
    const [title, description] = [text(size.titleWords), text(size.words - size.titleWords)]
    const body = { title: `${title.join(' ')} ${fresh}`, description: description.join(' ') }
    const { token } = writers[n % writers.length]!
    return post('/tasks', token, { ...body, projectId: projects[n % projects.length]!.id })
  })
}

async function untilIndexed({ sql }: Servers): Promise<void> {
  const behind = () => sql`
    select from streams s left join search_cursors c on c.project_id = s.project_id
    where (c.seq = s.version and c.event_id = s.last_event_id and c.fill is null) is not true limit 1`
  while ((await behind()).length > 0) await Bun.sleep(200)
}

const below = (n: number) => Math.floor(Math.random() * n)
const oneOf = <T>(items: T[]): T => items[below(items.length)]!

/** Returns the path of a request. Each request has other values, so that no response comes from a cache. */
type Kind = (words: string[], project: Project) => string

const several = (count: number) => (words: string[]) =>
  numbers(count)
    .map(() => oneOf(words))
    .join(' ')
const phrase = (count: number) => (words: string[]) => {
  const from = below(words.length - count + 1)
  return `"${words.slice(from, from + count).join(' ')}"`
}
const start = (length: number) => (words: string[]) => oneOf(words).slice(0, length)
const without = (words: string[]) => `"${oneOf(words.slice(0, 23))}" -${oneOf(words.slice(23))}`
/** No word has a "q", so only similar titles are found. */
const misspelled = (words: string[]) => {
  const word = words.slice(0, size.titleWords).find(({ length }) => length > 5) ?? 'loruparo'
  return `${word.slice(0, 3)}q${word.slice(4)}`
}
const searchOf =
  (text: (words: string[]) => string, path = '/search'): Kind =>
  (words) =>
    `${path}?q=${encodeURIComponent(text(words))}`
const searches: Record<string, Kind> = {
  'a word': searchOf(phrase(1)),
  'two words, the last a prefix': searchOf(several(2)),
  'three words, the last a prefix': searchOf(several(3)),
  'phrase of two words': searchOf(phrase(2)),
  'phrase of three words': searchOf(phrase(3)),
  ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`prefix, ${n} letters`, searchOf(start(n))])),
  'a word without another': searchOf(without),
  'misspelled: similar titles': searchOf(misspelled),
  'GET /tasks?q=, two words': searchOf(several(2), '/tasks'),
}
const list = (filter: string): string => `/tasks?limit=50&${filter}`
const lists: Record<string, Kind> = {
  'GET /tasks': () => list('sort=createdAt'),
  labels: (_, { labels }) => list(`labels=${labels[0]}`),
  anyLabel: (_, { labels }) => list(`anyLabel=${labels[0]},${labels[1]}`),
  noLabel: () => list('noLabel=true'),
  blocks: (_, { tasks }) => list(`blocks=${tasks[49]}`),
  ready: () => list('ready=true'),
  'claimedBy=me': () => list('claimedBy=me'),
  'claimedBy=none': () => list('claimedBy=none'),
}
const listsOfProject: Record<string, Kind> = {
  externalId: () => list(`externalId=X-${1 + below(1_000)}`),
  'field.estimate': () => list(`field.estimate=${below(100)}`),
  'field.estimate.min': () => list(`field.estimate.min=${below(100)}`),
  'field.start.max': () => list(`field.start.max=${2027 + below(3)}-06-01`),
  'field.size': () => list(`field.size=${'SML'[below(3)]}`),
}

/** Sends a request with the values of a task in the scope. Returns false if a search did not find all events indexed. */
async function sendOne(url: string, data: LargeData, scope: string, kind: Kind): Promise<boolean> {
  let task = oneOf(data.sampled)
  while (!scopes[scope]!(task.project)) task = oneOf(data.sampled)
  const project = data.projects[task.project]!
  const within = scope.endsWith('project') ? `&projectId=${project.id}` : ''
  const { token } = scope === '20 projects' ? data.member : data.owner
  const { headers } = await send(url, get(kind(task.words, project) + within, token))
  return ['all', null].includes(headers.get('docket-indexed'))
}

/** Returns a row of the table for each kind. */
async function measureKinds(url: string, data: LargeData, kinds: Record<string, Kind>, names = scopeNames) {
  const rows: string[][] = []
  for (const [name, kind] of Object.entries(kinds)) {
    const cells = await Array.fromAsync(names, async (scope) => {
      const request = async () => {
        if (!(await sendOne(url, data, scope, kind))) throw new Error(`${name}: events are not indexed`)
      }
      const [times] = await timesOf(counts, request)
      return cellOf(times!)
    })
    rows.push([name, ...scopeNames.map((_, n) => cells[n] ?? '–')])
  }
  return rows
}

/** Sends one search at a time during creates at a steady rate. Every tenth round, creates a task and searches for it. */
async function measureBeside(
  { servers: { url } }: Bench,
  data: LargeData,
  sendCreates: Awaited<ReturnType<typeof openLoad>>,
) {
  const load = sendCreates(burstSeconds)
  const [taken, kinds] = [scopeNames.map(openTimes), Object.values(searches)]
  let [behind, created, notFound] = [0, 0, 0]
  const measureRound = async (round: number) => {
    for (const [n, scope] of scopeNames.entries()) {
      const kind = kinds[round % kinds.length]!
      if (!(await taken[n]!.of(() => sendOne(url, data, scope, kind)))) behind++
      await Bun.sleep(20)
    }
    if (round % 10) return
    const word = `fresh${round}x${Date.now()}`
    const projectId = data.projects[round % data.projects.length]!.id
    const create = post('/tasks', data.owner.token, { title: `A ${word}`, projectId })
    // An overloaded service rejects a create.
    const task = await send(url, create).catch(() => undefined)
    const found = await send(url, get(`/search?q=${word}`, data.owner.token))
    if (!task || found.headers.get('docket-indexed') !== 'all') return
    created++
    if (found.body[0]?.id !== task.body.id) notFound++
  }
  await repeatUntil(load, 0, [measureRound])
  const { perSecond, p99Ms, errors } = await load
  return { taken, behind, created, notFound, perSecond, p99Ms, errors }
}
