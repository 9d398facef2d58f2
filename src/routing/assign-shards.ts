/**
 * Returns the process id of each shard; an empty array without live processes. A shard stays with a live process. If
 * `mayBalance`, at most one shard moves to a process with fewer shards. All processes compute the same result.
 */
export function assignShards(
  shards: number,
  live: string[],
  previous: (string | undefined)[],
  mayBalance: boolean,
) {
  const counts = new Map([...new Set(live)].sort().map((id) => [id, 0]))
  if (counts.size === 0) return []
  const add = (id: string, n: number) => counts.set(id, counts.get(id)! + n)
  const liveHomes = Array.from({ length: shards }, (_, shard) => {
    const home = previous[shard]
    return home !== undefined && counts.has(home) ? home : undefined
  })
  for (const home of liveHomes) if (home !== undefined) add(home, 1)
  const homes = liveHomes.map((home, shard) => {
    if (home !== undefined) return home
    const taker = highestWeight(leastLoaded(counts), shard)
    add(taker, 1)
    return taker
  })
  return mayBalance && !liveHomes.includes(undefined) ? moveOneShard(homes, counts) : homes
}

/** Moves a shard from a process with the most shards to one with the fewest, if their counts differ by two or more. */
function moveOneShard(homes: string[], counts: ReadonlyMap<string, number>): string[] {
  const most = Math.max(...counts.values())
  if (most - Math.min(...counts.values()) < 2) return homes
  const takers = leastLoaded(counts)
  const movable = homes.flatMap((home, shard) =>
    counts.get(home) === most ? [{ shard, taker: highestWeight(takers, shard) }] : [],
  )
  const { shard, taker } = movable.reduce((a, b) =>
    weight(b.taker, b.shard) > weight(a.taker, a.shard) ? b : a,
  )
  return homes.with(shard, taker)
}

function leastLoaded(counts: ReadonlyMap<string, number>): string[] {
  const least = Math.min(...counts.values())
  return [...counts].flatMap(([id, shards]) => (shards === least ? [id] : []))
}

/** Rendezvous hashing: each shard ranks the processes in its own order. */
const highestWeight = (ids: string[], shard: number): string =>
  ids.reduce((a, b) => (weight(b, shard) > weight(a, shard) ? b : a))

const weight = (id: string, shard: number): number => mixBits(hashOf(id) ^ Math.imul(shard + 1, 0x9e3779b1))

export const shardOf = (projectId: string, shards: number): number => hashOf(projectId) % shards

/** FNV-1a, followed by `mixBits` because its low bits are weak. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixBits(hash)
}

/** The finalizer of MurmurHash3. */
function mixBits(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
