import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chart } from './chart.ts'
import type { Deletion } from './deletion.ts'
import type { Fair } from './fair.ts'
import type { Claims } from './claims.ts'
import type { FilterRow } from './filters.ts'
import type { Feed } from './feed.ts'
import type { ImportFigures } from './import.ts'
import type { SingleClient } from './single-client.ts'
import type { Machine } from './machine.ts'
import type { Row } from './measure.ts'
import type { Overload } from './overload.ts'
import { markdown } from './report.ts'
import type { ScalingRow } from './scaling.ts'
import type { SearchFigures } from './search.ts'
import type { Webhooks } from './webhooks.ts'

export interface Results {
  measuredAt: string
  rounds: number
  seconds: number
  machine: Machine
  /** Memory of the web process before its first request. */
  idleMiB?: number
  scenarios: Row[]
  lone?: SingleClient
  deletion?: Deletion
  scaling?: ScalingRow[]
  overload?: Overload
  webhooks?: Webhooks
  feed?: Feed
  filters?: FilterRow[]
  claims?: Claims
  fair?: Fair[]
  search?: SearchFigures
  import?: ImportFigures
  failures: string[]
}

/** The rounds that were not used, by scenario. */
export const failuresOf = (results: Results): string[] => [
  ...results.failures,
  ...results.scenarios.flatMap(({ name, failures }) => failures.map((failure) => `${name}: ${failure}`)),
  ...(results.deletion?.failures ?? []).map((failure) => `deletion: ${failure}`),
  ...(results.overload?.failures ?? []).map((failure) => `overload: ${failure}`),
  ...(results.feed?.failures ?? []).map((failure) => `feed: ${failure}`),
  ...(results.search?.failures ?? []).map((failure) => `search: ${failure}`),
  ...(results.webhooks?.failures ?? []).map((failure) => `webhooks: ${failure}`),
]

export async function writeResults(folder: string, results: Results): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'results.json'), `${JSON.stringify(results, rounded, 2)}\n`)
  await writeFile(join(folder, 'results.md'), markdown(results))
  await writeFile(join(folder, 'results.svg'), chart(results.scenarios))
}

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
