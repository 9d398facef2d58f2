/** After Redis failed to answer, it is left alone this long: who comes meanwhile does not wait for it too. */
const restMs = 1_000
/** What a process counts for itself is bounded: the key that was used least lately makes place for a new one. */
export const maxOwnKeys = 50_000

/** Runs `shared` with Redis, for all processes together; `own`, for this process alone, while Redis is away. */
export function openShared() {
  let restsUntil = -Infinity
  return async <T>(shared: () => Promise<T>, own: () => T): Promise<T> => {
    if (performance.now() < restsUntil) return own()
    try {
      return await shared()
    } catch {
      restsUntil = performance.now() + restMs
      return own()
    }
  }
}
