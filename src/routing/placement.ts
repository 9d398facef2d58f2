/** A process by its id, or nobody. */
type Home = string | undefined

/**
 * Which process is home of each shard, from what was and who is alive. A shard stays where it is while that process
 * lives; when they may be balanced, one moves at a time. Everyone finds the same. Empty when nobody is alive.
 */
export function place(
  shards: number,
  live: readonly string[],
  current: readonly Home[],
  mayBalance: boolean,
): string[] {
  const load = new Map([...new Set(live)].sort().map((id) => [id, 0]))
  if (load.size === 0) return []
  const add = (id: string, n: number) => load.set(id, load.get(id)! + n)
  const kept = Array.from({ length: shards }, (_, shard) => current[shard])
  for (const home of kept) if (home !== undefined && load.has(home)) add(home, 1)
  let isKept = true
  const homes = kept.map((home, shard) => {
    if (home !== undefined && load.has(home)) return home
    isKept = false
    const taker = heaviest(leastLoaded(load), shard)
    add(taker, 1)
    return taker
  })
  return isKept && mayBalance ? balanced(homes, load) : homes
}

/** Moves one shard from where most are to where fewest are, when that is two or more apart. */
function balanced(homes: string[], load: ReadonlyMap<string, number>): string[] {
  const most = Math.max(...load.values())
  if (most - Math.min(...load.values()) < 2) return homes
  const takers = leastLoaded(load)
  const movable = homes.flatMap((home, shard) =>
    load.get(home) === most ? [{ shard, taker: heaviest(takers, shard) }] : [],
  )
  const { shard, taker } = movable.reduce((a, b) =>
    weight(b.taker, b.shard) > weight(a.taker, a.shard) ? b : a,
  )
  return homes.with(shard, taker)
}

function leastLoaded(load: ReadonlyMap<string, number>): string[] {
  const least = Math.min(...load.values())
  return [...load].flatMap(([id, shards]) => (shards === least ? [id] : []))
}

/** Rendezvous hashing: the winner depends on who takes part and on nothing else. */
const heaviest = (ids: string[], shard: number): string =>
  ids.reduce((a, b) => (weight(b, shard) > weight(a, shard) ? b : a))

const weight = (id: string, shard: number): number => mixed(hashOf(id) ^ Math.imul(shard + 1, 0x9e3779b1))

/** The shard of a project. */
export const shardOf = (projectId: string, shards: number): number => hashOf(projectId) % shards

/** FNV-1a, mixed so that its low bits are as good as its high ones. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixed(hash)
}

/** The last steps of MurmurHash3: every bit in turns half of those that come out. */
function mixed(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
