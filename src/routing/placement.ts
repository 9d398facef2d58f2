/**
 * The home of each shard by its id; empty without live processes. A shard keeps a live home; when `mayBalance`, one shard
 * moves. All processes compute the same.
 */
export function place(shards: number, live: string[], current: (string | undefined)[], mayBalance: boolean) {
  const load = new Map([...new Set(live)].sort().map((id) => [id, 0]))
  if (load.size === 0) return []
  const add = (id: string, n: number) => load.set(id, load.get(id)! + n)
  const kept = Array.from({ length: shards }, (_, shard) => {
    const home = current[shard]
    return home !== undefined && load.has(home) ? home : undefined
  })
  for (const home of kept) if (home !== undefined) add(home, 1)
  const homes = kept.map((home, shard) => {
    if (home !== undefined) return home
    const taker = heaviest(leastLoaded(load), shard)
    add(taker, 1)
    return taker
  })
  return mayBalance && !kept.includes(undefined) ? balanced(homes, load) : homes
}

/** Moves one shard from a home with most to a home with fewest, when the two differ by two or more. */
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

/** Rendezvous hashing. */
const heaviest = (ids: string[], shard: number): string =>
  ids.reduce((a, b) => (weight(b, shard) > weight(a, shard) ? b : a))

const weight = (id: string, shard: number): number => mixed(hashOf(id) ^ Math.imul(shard + 1, 0x9e3779b1))

export const shardOf = (projectId: string, shards: number): number => hashOf(projectId) % shards

/** FNV-1a, mixed because its low bits are weak. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixed(hash)
}

/** The finalizer of MurmurHash3. */
function mixed(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
