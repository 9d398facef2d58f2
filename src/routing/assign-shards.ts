import { weight } from './hash.ts'

/**
 * A shard stays with a live process. If `mayBalance`, at most one shard moves. All processes compute the same result.
 */
export function assignShards(
  shards: number,
  live: string[],
  previous: (string | undefined)[],
  mayBalance: boolean,
) {
  const counts = new Map([...new Set(live)].sort().map((id) => [id, 0]))
  if (counts.size === 0) return []
  const addShard = (id: string) => counts.set(id, counts.get(id)! + 1)
  const liveHomes = Array.from({ length: shards }, (_, shard) =>
    counts.has(previous[shard]!) ? previous[shard] : undefined,
  )
  for (const home of liveHomes) if (home !== undefined) addShard(home)
  const homes = liveHomes.map((home, shard) => {
    if (home !== undefined) return home
    const taker = highestWeight(leastLoaded(counts), shard)
    addShard(taker)
    return taker
  })
  return mayBalance && !liveHomes.includes(undefined) ? moveOneShard(homes, counts) : homes
}

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

const highestWeight = (ids: string[], shard: number): string =>
  ids.reduce((a, b) => (weight(b, shard) > weight(a, shard) ? b : a))
