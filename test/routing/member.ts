import { readConfig } from '../../src/config.ts'
import { Placement, type Timing } from '../../src/routing/placement.ts'
import { shardOf } from '../../src/routing/assign-shards.ts'
import { newId } from '../../src/ids.ts'
import { until } from '../../src/local/wait.ts'
import { openLog } from '../../src/log.ts'
import { openRedis } from '../../src/redis/connections.ts'

type Env = Record<string, string>

/** What a process knows of homes. In a test, many stand in one process. */
export interface Member {
  id: string
  /** The home of each shard as this one sees it, by id; those who are lost cannot be used. */
  view(lost?: string[]): (string | undefined)[]
  leave(): Promise<void>
  /** Ends without a word, as a process that is killed. */
  close(): void
}

/** Opens one that begins at once; without an id it is a worker. */
export function openMember(env: Env, id?: string, timing?: Timing): Member {
  const config = readConfig(env)
  const log = openLog('silent')
  const redis = openRedis(config.redisUrl, log)
  const me = id === undefined ? undefined : { id, host: '127.0.0.1', port: 1 }
  const homes = new Placement(redis, config, me, log, timing)
  const projects = onePerShard(config.writeShards)
  return {
    id: id ?? 'worker',
    view: (lost = []) =>
      projects.map((project) => {
        const home = homes.homeOf(project, (one) => !lost.includes(one))
        return home === 'here' ? id : home?.id
      }),
    leave: () => homes.leave(),
    close: () => {
      homes.close()
      redis.disconnect()
    },
  }
}

function onePerShard(shards: number): string[] {
  const projects = new Map<number, string>()
  while (projects.size < shards) {
    const id = newId()
    projects.set(shardOf(id, shards), id)
  }
  return Array.from({ length: shards }, (_, shard) => projects.get(shard)!)
}

/** The view that all of them have, once every shard is the living's and they are of one mind. */
export async function agreed(members: Member[], live = members): Promise<string[]> {
  const ids = live.map(({ id }) => id)
  const isSettled = (view: (string | undefined)[]) => view.every((home) => home && ids.includes(home))
  const common = () => {
    const views = members.map((member) => member.view())
    return new Set(views.map((view) => view.join())).size === 1 && isSettled(views[0]!) ? views[0] : undefined
  }
  const view = await until(common, 40_000, { everyMs: 5 })
  if (view) return view as string[]
  throw new Error(`Never of one mind: ${JSON.stringify(members.map((one) => [one.id, one.view()]))}`)
}
