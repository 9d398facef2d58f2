import { Redis } from 'ioredis'
import { send } from './load.ts'
import { type Probe, tenths } from './probe.ts'
import { createOf } from './seed.ts'
import { openTimes } from './usage.ts'

const counts = { warmUp: 200, measured: 2_000 }

/** The latency of a create with no other load, compared with a plain insert and a round trip to Redis. */
export const singleClient: Probe = {
  name: 'single-client',
  async measure({ servers: { sql, url, redisUrl, web }, world }) {
    await web(1)
    const [, project] = world.projects
    const nowhere = project!.ownerId
    const redis = new Redis(redisUrl)
    const steps = {
      create: async () => {
        const { status } = await send(url, createOf(project!))
        if (status !== 201) throw new Error(`A create was answered ${status}`)
      },
      insert:
        () => sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
        values (uuidv7(), ${nowhere}, 1, 'Task', 'TODO', 'MEDIUM', now(), now(), uuidv7())`,
      redis: () => redis.ping(),
    }
    const taken = { create: openTimes(), insert: openTimes(), redis: openTimes() }
    // The steps alternate, so that other load on the machine affects all of them.
    for (let n = 0; n < counts.warmUp + counts.measured; n++)
      for (const name of ['create', 'insert', 'redis'] as const)
        await (n < counts.warmUp ? steps[name]() : taken[name].of(steps[name] as () => Promise<unknown>))
    redis.disconnect()
    await sql`delete from tasks where project_id = ${nowhere}`
    const [create, insert, ping] = [taken.create.ms(50), taken.insert.ms(50), taken.redis.ms(50)]
    return {
      sentences: [
        `A single client waits ${create.toFixed(2)} ms for a create: ${tenths(create / (insert + ping))} times a plain insert ` +
          `(${insert.toFixed(2)} ms) and a round trip to Redis (${ping.toFixed(2)} ms).`,
      ],
      figures: { createMs: create, insertMs: insert, redisMs: ping },
    }
  },
}
