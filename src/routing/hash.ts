/** Rendezvous hashing: the rank of a process for a shard. */
export const weight = (id: string, shard: number): number =>
  mixBits(hashOf(id) ^ Math.imul(shard + 1, 0x9e3779b1))

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
