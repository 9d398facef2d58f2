import { readConfig } from '../../src/config.ts'
import { newId } from '../../src/ids.ts'
import { until } from '../../src/local/server.ts'
import { openLog } from '../../src/logger.ts'
import { disconnect, openRedis } from '../../src/redis/connections.ts'
import { Placement, type Timing, shardOf } from '../../src/routing/placement.ts'

type Env = Record<string, string>

export type Member = ReturnType<typeof openMember>

/** Opens the membership and placement of one process: of a web process, or without an id of a worker. */
export function openMember(env: Env, id?: string, timing?: Timing) {
  const config = readConfig(env)
  const log = openLog('silent')
  const redis = openRedis(config, log)
  const me = id === undefined ? undefined : { id, host: '127.0.0.1', port: 1 }
  const homes = new Placement(redis, config, me, log, timing)
  const projects = onePerShard(config.writeShards)
  return {
    id: id ?? 'worker',
    /** Returns the home of each shard as this member sees it. @param lost ids of unusable processes */
    view: (lost: string[] = []) =>
      projects.map((project) => {
        const home = homes.homeOf(project, (one) => !lost.includes(one))
        return home === 'here' ? id : home?.id
      }),
    leave: () => homes.leave(0),
    /** Ends without leaving, like a crashed process. */
    close: () => {
      homes.close()
      disconnect(redis)
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

export async function agreed(members: Member[], live = members): Promise<string[]> {
  const ids = live.map(({ id }) => id)
  const isSettled = (view: (string | undefined)[]) => view.every((home) => home && ids.includes(home))
  const common = () => {
    const views = members.map((member) => member.view())
    return new Set(views.map((view) => view.join())).size === 1 && isSettled(views[0]!) ? views[0] : undefined
  }
  const view = await until(common, 40_000, { everyMs: 5 })
  if (view) return view as string[]
  throw new Error(`The members do not agree: ${JSON.stringify(members.map((one) => [one.id, one.view()]))}`)
}
