/**
 * Divides `limit` rows among those that wait: each gets all it has, up to a most that is the same for all, and one at
 * least where it has any, so that together they may get more than `limit` when there are more of them.
 */
export function sharesOf(waiting: number[], limit: number): number[] {
  const shares = waiting.map(() => 0)
  const those = [...waiting.keys()].filter((n) => waiting[n]! > 0).sort((a, b) => waiting[a]! - waiting[b]!)
  let left = limit
  those.forEach((n, i) => {
    const share = Math.min(waiting[n]!, Math.max(1, Math.ceil(left / (those.length - i))))
    shares[n] = share
    left -= share
  })
  return shares
}
