import { type ScopeName, scopes } from './search-queries.ts'
import type { SearchFigures } from './search.ts'
import { table } from './table.ts'

const titles: Record<ScopeName, string> = {
  small: 'a small project',
  large: 'the large project',
  twenty: '20 projects',
  all: '500 projects',
}

/** The p50 and p95 of each kind of search in each scope, alone; the last row is beside creates. */
export function searchTable({ alone, burst }: SearchFigures): string[] {
  const columns = ['search, ms: p50 / p95', ...scopes.map((scope) => titles[scope])]
  const cells = (of: SearchFigures['burst']['searches']) =>
    scopes.map((scope) => `${of[scope].p50Ms.toFixed(1)} / ${of[scope].p95Ms.toFixed(1)}`)
  const rows = alone.kinds.map(({ kind, scopes }) => [kind, ...cells(scopes)])
  return table(columns, [...rows, ['all kinds, beside creates', ...cells(burst.searches)]])
}

export const searchSentences = ({ fill, burst, createsRatio }: SearchFigures): string[] => [
  `The first fill of 1,000,000 tasks takes ${whole(fill.seconds)} s; meanwhile creates have ${percent(fill.createsRatio)} of their rate.`,
  `Beside ${whole(burst.perSecond)} creates a second (p99 ${whole(burst.p99Ms)} ms), ${burst.notFound} of ${burst.created} tasks were not found by ` +
    `the search after their create, and ${burst.behind} searches were behind. ` +
    `All is indexed ${burst.catchUpSeconds.toFixed(1)} s after the creates; then ${burst.missing} tasks are missing in the index.`,
  `With a worker that indexes them, creates have ${percent(createsRatio)} of their rate.`,
]

const whole = (value: number) => Math.round(value).toLocaleString('en')
const percent = (ratio: number) => `${Math.round(ratio * 100)} %`
