import { once } from 'node:events'
import { openClient } from '../test/support/client.ts'
import { Random } from '../test/faults/random.ts'
import { fresh, type PlannedRequest, runLoad, singleKind, storePlan } from './load.ts'
import { type Bench, eachOf, numbers, percent, type Probe, tenths, whole } from './probe.ts'
import { newUser } from './seed.ts'
import type { Servers } from './servers.ts'
import { openTexts } from './texts.ts'
import { openTimes, type Times } from './usage.ts'

const size = { tasks: 1_000_000, projects: 500, large: 100_000, words: 46, titleWords: 8, writers: 64 }
const scopes = {
  small: 'a small project',
  large: 'the large project',
  twenty: '20 projects',
  all: '500 projects',
}
type Scope = keyof typeof scopes
const scopeNames = Object.keys(scopes) as Scope[]
const counts = { warmUp: 5, measured: 50 }
const burst = { seconds: 60, perSecond: 8_000, connections: 1_024 }

/** Searches of 1,000,000 tasks of 46 words, alone and beside creates. */
export const search: Probe = {
  name: 'search',
  async measure(bench) {
    const { servers } = bench
    await servers.web(1)
    const data = await insertData(servers)
    const creates = await storePlan(servers.folder, 'search', singleKind(201, createsOf(data)))
    const load = { url: servers.url, plan: creates, connections: 256, seconds: bench.seconds }
    await runLoad(load)
    const without = await runLoad(load)
    const began = performance.now()
    return servers.withWorker(async () => {
      await untilIndexed(servers)
      const fillSeconds = (performance.now() - began) / 1_000
      await servers.sql`vacuum analyze`
      const alone = await measureAlone(servers.url, data)
      const beside = await measureBeside(bench, data, creates)
      await untilIndexed(servers)
      const [row] = await servers.sql<{ missing: number }[]>`
        select count(*)::int4 as missing from tasks t where not exists (select from search_documents s where s.id = t.id)`
      const indexed = await runLoad(load)
      const cells = (of: Record<Scope, Times>) =>
        scopeNames.map((scope) => `${tenths(of[scope].ms(50))} / ${tenths(of[scope].ms(95))}`)
      const rows = [...alone, { kind: 'all kinds, beside creates', taken: beside.taken }]
      return {
        headline:
          `Beside ${whole(beside.perSecond)} creates a second, ${beside.created - beside.notFound} of ${beside.created} tasks were ` +
          `found by the search after their create, and no search was answered 503.`,
        sentences: [
          `The first fill of the search index of ${whole(size.tasks)} tasks takes ${whole(fillSeconds)} s. Beside creates, ` +
            `${beside.behind} searches were behind; then ${row!.missing} tasks are missing in the index. With a worker that ` +
            `indexes them, creates have ${percent(indexed.perSecond / without.perSecond)} of their rate.`,
        ],
        table: {
          head: ['search, ms: p50 / p95', ...Object.values(scopes)],
          rows: rows.map(({ kind, taken }) => [kind, ...cells(taken)]),
        },
        figures: { fillSeconds, beside: { ...beside, taken: undefined }, without, indexed },
        failures: [...without.errors, ...indexed.errors, ...beside.errors],
      }
    })
  },
}

/** A task whose words become searches: the words in their order, the title first. */
interface SampledTask {
  project: number
  words: string[]
}

interface Data {
  /** Owns all projects. The first project is the large one. */
  owner: string
  /** A member of 20 small projects. */
  member: string
  /** Members of all projects that create tasks. */
  writers: string[]
  projects: string[]
  sampled: SampledTask[]
}

/** Inserts tasks in random projects, one each second. Of the events, only the newest one of each project has not expired. */
async function insertData({ url, sql }: Servers): Promise<Data> {
  const [owner, member, ...writers] = await eachOf(numbers(size.writers + 2), () => newUser(url))
  const start = Date.now() - size.tasks * 1_000
  const projects = numbers(size.projects).map((n) => idAt(start + n))
  const sampled = await copyTasks(sql, projects, start)
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select id, ${owner!.ownerId}, 'Project ' || n, now(), uuidv7() from unnest(${projects}::uuid[]) with ordinality p(id, n)`
  await sql`insert into streams (project_id, version, last_number, last_event_id)
    select p.id, count(*) + 1, count(*), p.event_id from projects p join tasks t on t.project_id = p.id
    where p.id = any(${projects}::uuid[]) group by p.id`
  await sql`insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select p.id, version, event_id, 'project.updated', 'project', p.id, owner_id, created_at, '{"name": "Project"}',
      jsonb_build_object('id', p.id, 'name', name)
    from projects p join streams s on s.project_id = p.id where p.id = any(${projects}::uuid[])`
  const join = (people: (string | undefined)[], ids: string[]) =>
    sql`insert into members (id, project_id, user_id, role, created_at, event_id)
      select uuidv7(), p.id, u.id, 'EDITOR', now(), uuidv7()
      from unnest(${ids}::uuid[]) p(id), unnest(${people as string[]}::uuid[]) u(id)`
  await join([member!.ownerId], projects.slice(1, 21))
  await join(
    writers.map(({ ownerId }) => ownerId),
    projects,
  )
  await sql`vacuum analyze`
  const tokens = writers.map(({ token }) => token)
  return { owner: owner!.token, member: member!.token, writers: tokens, projects, sampled }
}

async function copyTasks(sql: Servers['sql'], projects: string[], start: number): Promise<SampledTask[]> {
  const [text, random] = [openTexts(), new Random(54_321)]
  const lastNumbers = projects.map(() => 0)
  const sampled: SampledTask[] = []
  const rows =
    await sql`copy tasks (id, project_id, number, title, description, status, priority, created_at, updated_at,
    event_id) from stdin`.writable()
  for (let n = 0; n < size.tasks; n++) {
    const project = random.chance(size.large / size.tasks) ? 0 : 1 + random.below(projects.length - 1)
    const words = text(size.words)
    if (random.chance(0.005)) sampled.push({ project, words })
    const [id, time] = [idAt(start + n * 1_000), new Date(start + n * 1_000).toISOString()]
    const [title, description] = [words.slice(0, size.titleWords), words.slice(size.titleWords)]
    const values = [id, projects[project], ++lastNumbers[project]!, title.join(' '), description.join(' ')]
    const line = `${[...values, 'TODO', 'MEDIUM', time, time, id].join('\t')}\n`
    if (!rows.write(line)) await once(rows, 'drain')
  }
  rows.end()
  await once(rows, 'close')
  return sampled
}

/** Returns a UUID of version 7 with this time. */
function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`
}

/** Creates of tasks with the words of the data. Many accounts create, because an account has at most 16 requests in progress. */
function createsOf({ writers, projects }: Data): PlannedRequest[] {
  const text = openTexts()
  return numbers(5_000).map((n) => {
    const [title, description] = [text(size.titleWords), text(size.words - size.titleWords)]
    const body = { title: `${title.join(' ')} ${fresh}`, description: description.join(' ') }
    const projectId = projects[n % projects.length]!
    return {
      method: 'POST',
      path: '/tasks',
      token: writers[n % writers.length]!,
      body: { ...body, projectId },
    }
  })
}

async function untilIndexed({ sql }: Servers): Promise<void> {
  for (;;) {
    const behind = await sql`
      select from streams s left join search_cursors c on c.project_id = s.project_id
      where (c.seq = s.version and c.event_id = s.last_event_id and c.fill is null) is not true limit 1`
    if (behind.length === 0) return
    await Bun.sleep(200)
  }
}

const below = (n: number) => Math.floor(Math.random() * n)
const oneOf = <T>(items: T[]): T => items[below(items.length)]!
type Kind = (words: string[]) => string

const several =
  (count: number): Kind =>
  (words) =>
    numbers(count)
      .map(() => oneOf(words))
      .join(' ')
const phrase =
  (count: number): Kind =>
  (words) => {
    const from = below(words.length - count + 1)
    return `"${words.slice(from, from + count).join(' ')}"`
  }
const start =
  (length: number): Kind =>
  (words) =>
    oneOf(words).slice(0, length)
/** No word has a "q", so only similar titles are found. */
const misspelled: Kind = (words) => {
  const word = words.slice(0, size.titleWords).find(({ length }) => length > 5) ?? 'loruparo'
  return `${word.slice(0, 3)}q${word.slice(4)}`
}
const kinds: Record<string, Kind> = {
  'a word': phrase(1),
  'two words, the last a prefix': several(2),
  'three words, the last a prefix': several(3),
  'phrase of two words': phrase(2),
  'phrase of three words': phrase(3),
  ...Object.fromEntries([1, 2, 3, 4, 5].map((length) => [`prefix, ${length} letters`, start(length)])),
  'a word without another': (words) => `"${oneOf(words.slice(0, 23))}" -${oneOf(words.slice(23))}`,
  'misspelled: similar titles': misspelled,
  'GET /tasks?q=, two words': several(2),
}

/** Sends a search with the words of a task in the scope. Returns false if events are not indexed yet. */
async function sendSearch(url: string, data: Data, scope: Scope, kind: string): Promise<boolean> {
  const isIn = {
    ...{ small: (project: number) => project > 0, large: (project: number) => project === 0 },
    ...{ twenty: (project: number) => project > 0 && project <= 20, all: () => true },
  }[scope]
  let task = oneOf(data.sampled)
  while (!isIn(task.project)) task = oneOf(data.sampled)
  const query = new URLSearchParams({ q: kinds[kind]!(task.words) })
  if (scope === 'small' || scope === 'large') query.set('projectId', data.projects[task.project]!)
  const path = `${kind.startsWith('GET /tasks') ? '/tasks' : '/search'}?${query}`
  const client = openClient(url, scope === 'twenty' ? data.member : data.owner)
  const { status, headers } = await client.get(path)
  if (status !== 200) throw new Error(`${path} was answered ${status}`)
  return headers.get('docket-indexed') === 'all'
}

const openScopes = () =>
  Object.fromEntries(scopeNames.map((one) => [one, openTimes()])) as Record<Scope, Times>

async function measureAlone(url: string, data: Data) {
  const all: { kind: string; taken: Record<Scope, Times> }[] = []
  for (const kind of Object.keys(kinds)) {
    const taken = openScopes()
    for (const scope of scopeNames)
      for (let n = 0; n < counts.warmUp + counts.measured; n++) {
        const request = () => sendSearch(url, data, scope, kind)
        if (!(await (n < counts.warmUp ? request() : taken[scope].of(request))))
          throw new Error(`${kind}: events are not indexed`)
      }
    all.push({ kind, taken })
  }
  return all
}

/** Sends one search at a time during creates at a steady rate. Every tenth round, creates a task and searches for it. */
async function measureBeside({ servers: { url } }: Bench, data: Data, plan: string) {
  const load = runLoad({ url, plan, ...burst })
  const [taken, names, client] = [openScopes(), Object.keys(kinds), openClient(url, data.owner)]
  let [isOver, behind, created, notFound] = [false, 0, 0, 0]
  void load.catch(() => {}).finally(() => (isOver = true))
  for (let round = 0; !isOver; round++) {
    for (const scope of scopeNames) {
      const kind = names[round % names.length]!
      if (!(await taken[scope].of(() => sendSearch(url, data, scope, kind)))) behind++
      await Bun.sleep(20)
    }
    if (round % 10) continue
    const word = `fresh${round}x${Date.now()}`
    const projectId = data.projects[round % data.projects.length]
    const { status, body } = await client.post('/tasks', { title: `A ${word}`, projectId })
    const found = await client.get(`/search?q=${word}`)
    if (status !== 201 || found.headers.get('docket-indexed') !== 'all') continue
    created++
    if (found.body[0]?.id !== body.id) notFound++
  }
  const { perSecond, p99Ms, errors } = await load
  return { taken, behind, created, notFound, perSecond, p99Ms, errors }
}
