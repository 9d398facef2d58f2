// Version comparisons in the commit statement, with their replacements.
const comparisons: [comparison: string, replacement: string][] = [
  ['and s.version = h.expected and s.last_event_id = h."expectedEventId"', ''],
  ['coalesce(s.version, 0) <> h.expected or s.last_event_id <> h."expectedEventId"', 'false'],
]

/**
 * Returns the source of the commit statement without its version comparisons, so that only the lease prevents lost
 * updates.
 * @throws Error if the source has no such comparison.
 */
export function withoutComparisons(source: string): string {
  return comparisons.reduce((text, [comparison, replacement]) => {
    if (!text.includes(comparison))
      throw new Error(`The commit statement does not compare with: ${comparison}`)
    return text.replaceAll(comparison, replacement)
  }, source)
}
