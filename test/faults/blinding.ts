// The comparisons of the commit statement, and what stands there when nothing is compared.
const comparisons: [string, string][] = [
  ['and s.version = h.expected and s.last_event_id = h."expectedEventId"', ''],
  ['coalesce(s.version, 0) <> h.expected or s.last_event_id <> h."expectedEventId"', 'false'],
]

/**
 * The source of the commit statement with its comparisons taken out, as if the lease could be trusted.
 * @throws Error when it compares in another way than is known here.
 */
export function blinded(source: string): string {
  return comparisons.reduce((text, [comparison, nothing]) => {
    if (!text.includes(comparison))
      throw new Error(`The commit statement does not compare with: ${comparison}`)
    return text.replaceAll(comparison, nothing)
  }, source)
}
