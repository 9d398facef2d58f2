import type postgres from 'postgres'
import { newId } from '../src/ids.ts'
import { median } from './median.ts'
import { type LoadRun, storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import { send } from './send.ts'
import { trackerMix } from './requests.ts'

export interface Deletion {
  tasks: number
  answerMs: number
  /** From the response until the last row was deleted. */
  goneAfterSeconds: number
  before: MixFigures
  during: MixFigures
  p99Ratio: number
  failures: string[]
}

interface MixFigures {
  perSecond: number
  p50Ms: number
  p99Ms: number
  worstP99Ms: number
}

const lookEveryMs = 100
const patienceMs = 600_000

export async function measureDeletion(bench: Bench): Promise<Deletion> {
  const { servers, world, options, loader } = bench
  await servers.web(1)
  const project = await insertLargeProject(bench)
  const plan = await storePlan(servers.folder, 'deletion', trackerMix(world))
  const mix = (seconds: number) => loader.run({ url: servers.url, plan, connections: 64, seconds })
  return servers.withWorker(async () => {
    await mix(1)
    const before: LoadRun[] = []
    for (let round = 0; round < options.rounds; round++) before.push(await mix(options.seconds))
    const runs: LoadRun[] = []
    let gone = false
    const load = async () => {
      while (!gone) runs.push(await mix(options.seconds))
    }
    const remove = async () => {
      await Bun.sleep(options.seconds * 200) // the load starts first
      const answerMs = await responseTime(servers.url, project)
      const goneAfterSeconds = await secondsUntilPurged(servers.sql, project.id).finally(() => (gone = true))
      return { answerMs, goneAfterSeconds }
    }
    const [taken] = await Promise.all([remove(), load()])
    // The last run also covers time after the deletion, unless it is the only run.
    const during = figuresOf(runs.length > 1 ? runs.slice(0, -1) : runs)
    const calm = figuresOf(before)
    const failures = [...before, ...runs].flatMap(({ errors }) => errors)
    return {
      ...{ tasks: options.tasks, failures, before: calm, during, p99Ratio: during.p99Ms / calm.p99Ms },
      ...taken,
    }
  })
}

function figuresOf(runs: LoadRun[]): MixFigures {
  const of = (pick: (run: LoadRun) => number) => runs.map(pick)
  const p99s = of(({ p99Ms }) => p99Ms)
  return {
    perSecond: median(of(({ perSecond }) => perSecond)),
    p50Ms: median(of(({ p50Ms }) => p50Ms)),
    p99Ms: median(p99s),
    worstP99Ms: Math.max(...p99s),
  }
}

interface Project {
  id: string
  token: string
}

/** Inserts a project with `tasks` tasks into the database, so that no process has it in memory. */
async function insertLargeProject({ servers: { sql }, world, options: { tasks } }: Bench): Promise<Project> {
  const { token, ownerId } = world.projects[0]!
  const id = newId()
  await sql`
    with made as materialized (
      select n, uuidv7() as id, uuidv7() as event from generate_series(1, ${tasks}::int) n),
    project as (insert into projects (id, owner_id, name, created_at, event_id)
      values (${id}, ${ownerId}, 'Big', now(), uuidv7())),
    task as (insert into tasks
      (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select id, ${id}, n, 'Task ' || n, 'TODO', 'MEDIUM', now(), now(), event from made),
    event as (insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after)
      select ${id}, n, event, 'task.created', 'task', id, ${ownerId}, now(),
        jsonb_build_object('id', id, 'projectId', ${id}::text, 'number', n, 'title', 'Task ' || n)
      from made)
    insert into streams (project_id, version, last_number) values (${id}, ${tasks}, ${tasks})`
  await sql`vacuum analyze tasks, events`
  await sql`checkpoint`
  return { id, token }
}

async function responseTime(url: string, { id, token }: Project): Promise<number> {
  await send(url, { method: 'GET', path: '/auth/me', token }) // opens the connection, and caches the token
  const began = performance.now()
  const { status } = await send(url, { method: 'DELETE', path: `/projects/${id}`, token })
  if (status !== 200) throw new Error(`Deleting the big project answered ${status}`)
  return performance.now() - began
}

/** Returns the seconds until the project is purged. Its row in streams is deleted last, and is cheap to read. */
async function secondsUntilPurged(sql: postgres.Sql, id: string): Promise<number> {
  const began = performance.now()
  while ((await sql`select from streams where project_id = ${id}`).length > 0) {
    if (performance.now() - began > patienceMs)
      throw new Error('The large project is not purged after 10 minutes')
    await Bun.sleep(lookEveryMs)
  }
  const seconds = (performance.now() - began) / 1000
  const left = await sql`select from tasks where project_id = ${id} union all
    select from events where project_id = ${id} limit 1`
  if (left.length > 0) throw new Error('The stream of the big project went before its rows')
  return seconds
}
