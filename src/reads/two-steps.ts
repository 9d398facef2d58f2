/**
 * Reads many keys by a cheap query, and again by a costly query the keys for which the cheap query returned null. The
 * result for a key comes from one of both queries, so it is the state at one time.
 */
export async function readInTwoSteps<K, V>(
  keys: K[],
  readCheaply: (keys: K[]) => Promise<(V | null | undefined)[]>,
  readFully: (keys: K[]) => Promise<(V | undefined)[]>,
): Promise<(V | undefined)[]> {
  const found = await readCheaply(keys)
  const missing = found.flatMap((value, n) => (value === null ? [n] : []))
  if (missing.length > 0) {
    const full = await readFully(missing.map((n) => keys[n]!))
    missing.forEach((n, i) => (found[n] = full[i]))
  }
  return found as (V | undefined)[]
}
