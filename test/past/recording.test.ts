import { allPages, cases, eventually, faultsOf, make, nextPath, openScene, Random } from '../kit.ts'
import { type Person, versionOf, workerActor } from '../kit.ts'
import { countedBy, type Query, randomQuery } from '../http/filters-scene.ts'
import { startRandomWrites, type RandomWrites, writeRandomly } from './random-writes.ts'

const waves = cases(3)
const writesInWave = 25

const { service, sql, ada, bea, cy, di } = await openScene(['Ada', 'Bea', 'Cy', 'Di'])
service.startWorkers()

async function timesOf(projectId: string): Promise<Map<number, string>> {
  const rows = await sql<{ seq: number; at: string }[]>`
    select seq::float8 as seq, at from events where project_id = ${projectId}`
  return new Map(rows.map(({ seq, at }) => [seq, at]))
}

const asOf = (path: string, when: number | string) => `${path}${path.includes('?') ? '&' : '?'}asOf=${when}`

async function placesOf({ tasks }: RandomWrites): Promise<Map<string, string>> {
  const rows = await sql<{ taskId: string; projectId: string }[]>`
    select distinct on (task_id) task_id, project_id from events
    where task_id = any(${tasks.map(({ id }) => id)}::uuid[]) order by task_id, id desc`
  return new Map(rows.map(({ taskId, projectId }) => [taskId, projectId]))
}

interface Recorded {
  path: string
  projectId: string
  version: number
  text: string
}

const versionIn = (headers: Headers) => Number(headers.get('docket-version'))

/** Reads again if a worker has recorded a time meanwhile: then the response may be newer than its version. */
async function readAtVersion(who: Person, path: string, projectId?: string) {
  for (;;) {
    const response = await who.get(path)
    const { status, body, headers } = response
    if (status !== 200) return response
    if ((await versionOf(who, projectId ?? body.projectId)) === versionIn(headers)) return response
  }
}

/** Returns random filters of a project's tasks, with the labels and fields that the project has now. */
async function someFilters({ random, people, tasks }: RandomWrites, projectId: string): Promise<Query> {
  const [labels = [], fields = []] = await Promise.all(
    ['labels', 'fields'].map(async (list) => (await allPages(ada, `/projects/${projectId}/${list}`)).flat()),
  )
  const ids = labels.map(({ id }) => id)
  const values: Record<string, string[]> = {
    ...{ text: ['a', '2030-01-01'], number: ['1', '2.5'], boolean: ['true', 'false'] },
    ...{ date: ['2030-01-01', '2030-01-02'] },
  }
  type Field = { key: string; type: string; options: string[] | null }
  const choices: Record<string, string[]> = {
    ...{ status: ['TODO', 'IN_PROGRESS', 'DONE'], priority: ['LOW', 'MEDIUM', 'HIGH'] },
    ...{ assigneeId: ['me', people[1]!.id], claimedBy: ['me', 'none', people[1]!.id] },
    ...{ dueAfter: ['2030-01-01', '2030-01-02'], dueBefore: ['2030-01-03', '2030-01-05'] },
    ...{ noLabel: ['true'], ready: ['true'], externalId: ['X-1', 'X-2'] },
    ...(ids.length > 0 && { labels: [...ids, ids.slice(0, 2).join()], anyLabel: [...ids, ids.join()] }),
    ...(tasks.length > 0 && { blocks: tasks.slice(0, 8).map(({ id }) => id) }),
  }
  for (const { key, type, options } of fields as unknown as Field[]) {
    const bound = /number|date/.test(type) ? random.pick(['', '.min', '.max'])! : ''
    choices[`field.${key}${bound}`] = options ?? values[type]!
  }
  return random.chance(0.2) ? {} : randomQuery(random, choices, 3)
}

async function someList(world: RandomWrites, projectId: string): Promise<string> {
  const { random } = world
  const query = { projectId, ...(await someFilters(world, projectId)) }
  if (random.chance(0.3))
    return `/tasks/counts?${new URLSearchParams({ ...query, by: random.pick(countedBy)! })}`
  const sort = random.pick(['createdAt', '-createdAt', 'dueDate', '-dueDate', 'position'])!
  const limit = random.pick(['1', '2', '3', '5', '7', '100', '200'])!
  return `/tasks?${new URLSearchParams({ ...query, ...(random.chance(0.7) && { sort }), limit })}`
}

const limited = (random: Random, path: string) => `${path}?limit=${random.pick([1, 2, 3, 50])}`

/** Reads resources of each kind, and up to three pages of lists. No client may write meanwhile. */
async function record(who: Person, world: RandomWrites): Promise<Recorded[]> {
  const { random, projects, tasks } = world
  const found: Recorded[] = []
  const ask = async (path: string, projectId?: string): Promise<void> => {
    let next: string | undefined = path
    for (let pages = 0; next && pages < 3; pages++) {
      const { status, text, body, headers } = await readAtVersion(who, next, projectId)
      if (status === 404) return
      if (status !== 200) throw new Error(`GET ${next} got ${status} ${text}`)
      found.push({ path: next, projectId: projectId ?? body.projectId, version: versionIn(headers), text })
      next = nextPath(headers)
    }
  }
  for (const { id } of projects) {
    await ask(`/projects/${id}`, id)
    for (const list of ['members', 'labels', 'fields', 'views'])
      await ask(limited(random, `/projects/${id}/${list}`), id)
    for (let n = 0; n < 8; n++) await ask(await someList(world, id), id)
  }
  for (const { id } of [...tasks.slice(0, 4), ...random.shuffled(tasks.slice(4)).slice(0, 4)]) {
    const before = found.length
    await ask(`/tasks/${id}`)
    const projectId = found[before]?.projectId
    if (!projectId) continue
    for (const list of ['subtasks', 'comments']) await ask(limited(random, `/tasks/${id}/${list}`), projectId)
  }
  return found
}

test('asOf returns each earlier response byte for byte, by its version and by its time, also while clients write', async () => {
  const seed = Number(process.env.PAST_SEED ?? Math.floor(Math.random() * 1_000_000))
  console.log(`recording with PAST_SEED=${seed}`)
  const world = await startRandomWrites(new Random(seed), [ada, bea, cy, di])
  const { id: projectId } = await make(ada, '/projects', { name: 'Soon' })
  const soon = new Date(Date.now() + 3_000).toISOString()
  await make(ada, '/tasks', { projectId, title: 'Soon', dueDate: soon, remindAt: soon })
  const recorded: Recorded[] = []
  for (let wave = 0; wave < waves; wave++) {
    await writeRandomly(world, writesInWave)
    recorded.push(...(await record(ada, world)))
  }
  expect(recorded.length).toBeGreaterThan(waves * 12)

  const times = new Map(
    await Promise.all(world.projects.map(async ({ id }) => [id, await timesOf(id)] as const)),
  )
  const check = async ({ path, projectId, version, text }: Recorded, places?: Map<string, string>) => {
    const [, taskId] = /^\/tasks\/([\w-]{36})/.exec(path) ?? []
    // Without projectId, a version belongs to the task's current or last project.
    const isNamed = taskId && (places?.get(taskId) !== projectId || world.random.chance(0.2))
    const instant = times.get(projectId)!.get(version)!
    for (const when of [
      isNamed ? `${version}&projectId=${projectId}` : version,
      encodeURIComponent(instant),
    ]) {
      const again = await ada.get(asOf(path, when))
      const actual = [again.status, again.headers.get('docket-version'), again.text]
      expect([seed, path, when, ...actual]).toEqual([seed, path, when, 200, String(version), text])
    }
  }
  const writing = writeRandomly({ ...world, random: new Random(seed) }, writesInWave)
  for (const [n, one] of recorded.entries()) if (n % 2) await check(one)
  await writing
  const places = await placesOf(world)
  for (const [n, one] of recorded.entries()) if (n % 2 === 0) await check(one, places)
  await eventually('task.reminded and task.due', async () => {
    const types = await sql<{ type: string }[]>`
      select distinct type from events where actor_id = ${workerActor}`
    return ['task.reminded', 'task.due'].every((wanted) => types.some(({ type }) => type === wanted))
  })
  expect(await faultsOf(sql)).toEqual([])
}, 180_000)
