import { join } from 'node:path'
import { Redis } from 'ioredis'
import type postgres from 'postgres'
import { newId } from '../src/ids.ts'
import { get, openLoad, post, send } from './load.ts'
import { numbers, type Probe, tenths, whole } from './probe.ts'
import { createOf, newUser, trackerMix } from './seed.ts'
import { openTimes, timesOf } from './usage.ts'

const counts = { warmUp: 200, measured: 2_000 }
const [claimedTasks, workers] = [100_000, 64]
const deletedTasks = 200_000
const pollEveryMs = 100
const mixSeconds = 30

/** The latency of a create with no other load, compared with a plain insert and a round trip to Redis. */
export const singleClient: Probe = {
  name: 'single-client',
  async measure({ servers: { sql, url, redisUrl }, world }) {
    const [, project] = world.projects
    const nowhere = project!.ownerId
    const redis = new Redis(redisUrl)
    const insertRow = async () => sql`
      insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      values (uuidv7(), ${nowhere}, 1, 'Task', 'TODO', 'MEDIUM', now(), now(), uuidv7())`
    const createTask = () => send(url, createOf(project!))
    const all = await timesOf(counts, createTask, insertRow, () => redis.ping())
    redis.disconnect()
    await sql`delete from tasks where project_id = ${nowhere}`
    const [create = 0, insert = 0, ping = 0] = all.map((times) => times.ms(50))
    return {
      sentences: [
        `A single client waits ${create.toFixed(2)} ms for a create: ${tenths(create / (insert + ping))} times a plain insert ` +
          `(${insert.toFixed(2)} ms) and a round trip to Redis (${ping.toFixed(2)} ms).`,
      ],
      figures: { createMs: create, insertMs: insert, redisMs: ping },
    }
  },
}

/** Workers claim one task after another from one project. */
export const claims: Probe = {
  name: 'claims',
  async measure({ servers: { sql, url }, seconds }) {
    const { ownerId, token } = await newUser(url)
    const id = await insertProject(sql, ownerId, claimedTasks)
    const claim = post(`/projects/${id}/claim-next`, token, { leaseSeconds: 3_600 })
    const [taken, times, until] = [new Set<string>(), openTimes(), performance.now() + seconds * 1_000]
    const work = async () => {
      while (performance.now() < until) {
        const { status, body } = await times.of(() => send(url, claim))
        if (status !== 200 || taken.has(body.id)) throw new Error(`claim-next: ${status}, or claimed twice`)
        taken.add(body.id)
      }
    }
    await Promise.all(numbers(workers).map(work))
    const perSecond = taken.size / seconds
    return {
      sentences: [
        `${workers} workers claim ${whole(perSecond)} tasks a second from one project of ${whole(claimedTasks)} ready tasks ` +
          `(p50 ${tenths(times.ms(50))} ms, p99 ${tenths(times.ms(99))} ms).`,
      ],
      figures: { perSecond, p50Ms: times.ms(50), p99Ms: times.ms(99) },
    }
  },
}

/** The deletion of a large project during the mix of a tracker. */
export const deletion: Probe = {
  name: 'deletion',
  async measure({ servers, world }) {
    const { sql, url } = servers
    const { token, ownerId } = world.projects[0]!
    const id = await insertProject(sql, ownerId, deletedTasks)
    const mix = await openLoad(servers, trackerMix(world), { connections: 64 })
    return servers.withWorker(async () => {
      const before = await mix(mixSeconds)
      const load = mix(mixSeconds)
      await Bun.sleep(1_000)
      await send(url, get('/auth/me', token)) // opens the connection, and caches the token
      const taken = openTimes()
      await taken.of(() => send(url, { method: 'DELETE', path: `/projects/${id}`, token }))
      const goneAfterSeconds = await secondsUntilPurged(sql, id)
      const during = await load
      return {
        sentences: [
          `Deleting a project of ${whole(deletedTasks)} tasks during the mix takes ${tenths(taken.ms(50))} ms; its rows are deleted ` +
            `${tenths(goneAfterSeconds)} s later. The mix around it has ${whole(during.perSecond)} requests a second instead of ` +
            `${whole(before.perSecond)}, and a p99 of ${tenths(during.p99Ms)} ms instead of ${tenths(before.p99Ms)}.`,
        ],
        figures: { answerMs: taken.ms(50), goneAfterSeconds, before, during },
        failures: [...before.errors, ...during.errors],
      }
    })
  },
}

/** Inserts a project into the database, so that no process has it in memory. */
async function insertProject(sql: postgres.Sql, ownerId: string, tasks: number): Promise<string> {
  const id = newId()
  await sql.file(join(import.meta.dirname, 'data/project.sql'), [id, ownerId, tasks])
  await sql`vacuum analyze tasks, events`
  await sql`checkpoint`
  return id
}

/** The project's row in streams is deleted last, and is cheap to read. */
async function secondsUntilPurged(sql: postgres.Sql, id: string): Promise<number> {
  const began = performance.now()
  while ((await sql`select from streams where project_id = ${id}`).length > 0) await Bun.sleep(pollEveryMs)
  return (performance.now() - began) / 1_000
}
