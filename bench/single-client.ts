import { Redis } from 'ioredis'
import type postgres from 'postgres'
import { build } from 'hdr-histogram-js'
import type { Bench } from './measure.ts'
import { createOf } from './requests.ts'
import type { ResourceRef } from './seed.ts'
import { send } from './send.ts'

export interface SingleClient {
  createMs: number
  insertMs: number
  redisMs: number
  /** The ratio of the create to the insert plus the round trip to Redis. */
  ratio: number
}

const times = { warmUp: 200, measured: 2_000 }

export async function measureSingleClient({ servers, world }: Bench): Promise<SingleClient> {
  await servers.web(1)
  const project = world.projects[1]!
  const redis = new Redis(servers.redisUrl)
  const steps = {
    create: () => create(servers.url, project),
    insert: () => insert(servers.sql, project.ownerId),
    redis: () => redis.ping(),
  }
  try {
    const { create, insert, redis } = await mediansOf(steps)
    return { createMs: create, insertMs: insert, redisMs: redis, ratio: create / (insert + redis) }
  } finally {
    redis.disconnect()
    // These rows belong to no project.
    await servers.sql`delete from tasks where project_id = ${project.ownerId}`
  }
}

/** Median milliseconds of each step. The steps alternate, so that other load on the machine affects all of them. */
async function mediansOf<N extends string>(
  steps: Record<N, () => Promise<unknown>>,
): Promise<Record<N, number>> {
  const names = Object.keys(steps) as N[]
  const taken = names.map(() => build())
  for (let n = 0; n < times.warmUp + times.measured; n++) {
    for (const [at, name] of names.entries()) {
      const began = performance.now()
      await steps[name]()
      if (n >= times.warmUp) taken[at]!.recordValue(Math.round((performance.now() - began) * 1000))
    }
  }
  return Object.fromEntries(
    names.map((name, at) => [name, taken[at]!.getValueAtPercentile(50) / 1000]),
  ) as Record<N, number>
}

async function create(url: string, project: ResourceRef): Promise<void> {
  const { status } = await send(url, createOf(project))
  if (status !== 201) throw new Error(`A lone create answered ${status}`)
}

const insert = (sql: postgres.Sql, nowhere: string) => sql`
  insert into tasks (id, project_id, number, title, description, status, priority, created_at,
    updated_at, event_id)
  values (uuidv7(), ${nowhere}, 1, 'Task', 'To be measured', 'TODO', 'MEDIUM', now(), now(), uuidv7())`
