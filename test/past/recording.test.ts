import { cases, eventually, faultsOf, make, nextPath, openScene, Random, versionOf } from '../kit.ts'
import { workerActor } from '../kit.ts'
import type { Person } from '../kit.ts'
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

function someList(random: Random, projectId: string, people: Person[]): string {
  const some = (name: string, values: readonly string[], chance = 0.3) =>
    random.chance(chance) ? [[name, random.pick(values)!]] : []
  return `/tasks?${new URLSearchParams([
    ['projectId', projectId],
    ...some('status', ['TODO', 'IN_PROGRESS', 'DONE']),
    ...some('priority', ['LOW', 'MEDIUM', 'HIGH']),
    ...some('assigneeId', ['me', people[1]!.id]),
    ...some('dueAfter', ['2030-01-01', '2030-01-02']),
    ...some('dueBefore', ['2030-01-03', '2030-01-05']),
    ...some('sort', ['createdAt', '-createdAt', 'dueDate', '-dueDate', 'position'], 0.7),
    ...some('limit', ['1', '2', '3', '5', '7', '100', '200'], 0.9),
  ] as [string, string][])}`
}

const limited = (random: Random, path: string) => `${path}?limit=${random.pick([1, 2, 3, 50])}`

/** Reads resources of each kind, and up to three pages of lists. No client may write meanwhile. */
async function record(who: Person, { random, projects, tasks, people }: RandomWrites): Promise<Recorded[]> {
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
    for (let n = 0; n < 6; n++) await ask(someList(random, id, people), id)
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

test('asOf returns each earlier response byte for byte, by its version and by its time', async () => {
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
  const places = await placesOf(world)
  let reads = 0
  for (const { path, projectId, version, text } of recorded) {
    const [, taskId] = /^\/tasks\/([\w-]+)/.exec(path) ?? []
    const instant = times.get(projectId)!.get(version)!
    // Without projectId, a version belongs to the task's current or last project.
    const hasMoved = taskId && places.get(taskId) !== projectId
    const whose = hasMoved || world.random.chance(0.2) ? `${version}&projectId=${projectId}` : version
    for (const when of [taskId ? whose : version, encodeURIComponent(instant)]) {
      const again = await ada.get(asOf(path, when))
      const actual = [again.status, again.headers.get('docket-version'), again.text]
      expect([seed, path, when, ...actual]).toEqual([seed, path, when, 200, String(version), text])
      reads += 1
    }
  }
  expect(reads).toBe(recorded.length * 2)
  await eventually('task.reminded and task.due', async () => {
    const types = await sql<{ type: string }[]>`
      select distinct type from events where actor_id = ${workerActor}`
    return ['task.reminded', 'task.due'].every((wanted) => types.some(({ type }) => type === wanted))
  })
  expect(await faultsOf(sql)).toEqual([])
}, 180_000)
