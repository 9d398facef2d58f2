import { readFileSync } from 'node:fs'

// Preloaded by the service, so that its commits lose updates, which the checks must report.
Bun.plugin({
  name: 'without-comparison',
  setup(build) {
    build.onLoad({ filter: /src\/commit\/statement\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: withoutComparisons(readFileSync(path, 'utf8')),
    }))
  },
})

const comparisons: [comparison: string, replacement: string][] = [
  ['and s.version = h.expected and s.last_event_id = h."expectedEventId"', ''],
  ['coalesce(s.version, 0) <> h.expected or s.last_event_id <> h."expectedEventId"', 'false'],
]

/** Without version comparisons, only the lease prevents lost updates. @throws Error if a comparison is missing */
export function withoutComparisons(source: string): string {
  return comparisons.reduce((text, [comparison, replacement]) => {
    if (!text.includes(comparison))
      throw new Error(`The commit statement does not compare with: ${comparison}`)
    return text.replaceAll(comparison, replacement)
  }, source)
}
