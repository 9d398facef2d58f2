import { expect, test } from 'bun:test'
import { Random } from '../faults/random.ts'
import { openScene } from '../support/scene.ts'
import { startRandomWrites, type RandomWrites, writeRandomly } from './random-writes.ts'
import { type Recorded, record } from './recorder.ts'

const waves = 15
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

test('asOf returns each earlier response byte for byte, by its version and by its time', async () => {
  const seed = Number(process.env.PAST_SEED ?? Math.floor(Math.random() * 1_000_000))
  console.log(`recording with PAST_SEED=${seed}`)
  const world = await startRandomWrites(new Random(seed), [ada, bea, cy, di])
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
}, 180_000)
