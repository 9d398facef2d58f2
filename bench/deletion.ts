import type postgres from 'postgres'
import { newId } from '../src/ids.ts'
import { runLoad, send, storePlan } from './load.ts'
import { type Probe, tenths, whole } from './probe.ts'
import { trackerMix } from './seed.ts'
import { openTimes } from './usage.ts'

const tasks = 200_000
const lookEveryMs = 100
const patienceMs = 600_000
const mixSeconds = 30

/** The deletion of a large project during the mix of a tracker. */
export const deletion: Probe = {
  name: 'deletion',
  async measure({ servers, world }) {
    const { sql, url, folder } = servers
    await servers.web(1)
    const { token, ownerId } = world.projects[0]!
    const id = await insertLargeProject(sql, ownerId)
    const plan = await storePlan(folder, 'deletion', trackerMix(world))
    const mix = () => runLoad({ url, plan, connections: 64, seconds: mixSeconds })
    return servers.withWorker(async () => {
      const before = await mix()
      const load = mix()
      await Bun.sleep(1_000)
      await send(url, { method: 'GET', path: '/auth/me', token }) // opens the connection, and caches the token
      const taken = openTimes()
      const { status } = await taken.of(() => send(url, { method: 'DELETE', path: `/projects/${id}`, token }))
      if (status !== 200) throw new Error(`Deleting the large project was answered ${status}`)
      const goneAfterSeconds = await secondsUntilPurged(sql, id)
      const during = await load
      return {
        sentences: [
          `Deleting a project of ${whole(tasks)} tasks during the mix takes ${tenths(taken.ms(50))} ms; its rows are deleted ` +
            `${tenths(goneAfterSeconds)} s later. The mix around it has ${whole(during.perSecond)} requests a second instead of ` +
            `${whole(before.perSecond)}, and a p99 of ${tenths(during.p99Ms)} ms instead of ${tenths(before.p99Ms)}.`,
        ],
        figures: { answerMs: taken.ms(50), goneAfterSeconds, before, during },
        failures: [...before.errors, ...during.errors],
      }
    })
  },
}

/** Inserts the project into the database, so that no process has it in memory. */
async function insertLargeProject(sql: postgres.Sql, ownerId: string): Promise<string> {
  const id = newId()
  await sql`
    with made as materialized (select n, uuidv7() as id, uuidv7() as event from generate_series(1, ${tasks}::int) n),
    project as (insert into projects (id, owner_id, name, created_at, event_id) values (${id}, ${ownerId}, 'Large', now(), uuidv7())),
    task as (insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select id, ${id}, n, 'Task ' || n, 'TODO', 'MEDIUM', now(), now(), event from made),
    event as (insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after)
      select ${id}, n, event, 'task.created', 'task', id, ${ownerId}, now(),
        jsonb_build_object('id', id, 'projectId', ${id}::text, 'number', n, 'title', 'Task ' || n) from made)
    insert into streams (project_id, version, last_number) values (${id}, ${tasks}, ${tasks})`
  await sql`vacuum analyze tasks, events`
  await sql`checkpoint`
  return id
}

/** The project's row in streams is deleted last, and is cheap to read. */
async function secondsUntilPurged(sql: postgres.Sql, id: string): Promise<number> {
  const began = performance.now()
  while ((await sql`select from streams where project_id = ${id}`).length > 0) {
    if (performance.now() - began > patienceMs) throw new Error('The project is not purged after 10 minutes')
    await Bun.sleep(lookEveryMs)
  }
  const left = await sql`select from tasks where project_id = ${id} union all
    select from events where project_id = ${id} limit 1`
  if (left.length > 0) throw new Error('The stream of the project was deleted before its rows')
  return (performance.now() - began) / 1_000
}
