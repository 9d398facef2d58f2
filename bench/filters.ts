import { build } from 'hdr-histogram-js'
import { type FilterData, type FilterPlace, insertFilterData, sizes } from './filter-data.ts'
import type { Bench } from './measure.ts'

export interface FilterRow {
  filter: string
  /** Milliseconds of one request at a time: of one project, and of all projects of the caller. */
  project?: Percentiles
  all?: Percentiles
}

interface Percentiles {
  p50Ms: number
  p95Ms: number
  /** Tasks on a page; half of the pages have at least as many. */
  tasks: number
}

const times = { warmUp: 20, measured: 200 }

/** Each request chooses other values, so that no response comes from a cache. */
const filters: Record<string, (place: FilterPlace) => string> = {
  none: () => 'sort=createdAt',
  labels: ({ label }) => `labels=${label}`,
  anyLabel: ({ label, other }) => `anyLabel=${label},${other}`,
  noLabel: () => 'noLabel=true',
  blocks: ({ blocker }) => `blocks=${blocker}`,
  ready: () => 'ready=true',
  'claimedBy=me': () => 'claimedBy=me',
  'claimedBy=none': () => 'claimedBy=none',
}
const ofProject: typeof filters = {
  externalId: () => `externalId=X-${below(sizes.tasksEach)}`,
  'field.estimate': () => `field.estimate=${below(100)}`,
  'field.estimate.min': () => `field.estimate.min=${below(100)}`,
  'field.start.max': () => `field.start.max=${2027 + below(3)}-06-01`,
  'field.size': () => `field.size=${'SML'[below(3)]}`,
}

const below = (n: number) => Math.floor(Math.random() * n)

/** Measures the first page of each filter with 1,000,000 tasks of one user in 500 projects. */
export async function measureFilters({ servers }: Pick<Bench, 'servers'>): Promise<FilterRow[]> {
  await servers.web(1)
  return measurePages(servers.url, await insertFilterData(servers.url, servers.sql))
}

async function measurePages(url: string, { token, places }: FilterData): Promise<FilterRow[]> {
  const rows: FilterRow[] = []
  for (const [filter, query] of Object.entries({ ...filters, ...ofProject })) {
    const measure = (where: (place: FilterPlace) => string) =>
      percentiles(url, token, () => {
        const place = places[below(places.length)]!
        return `/tasks?limit=50&${query(place)}${where(place)}`
      })
    const project = await measure((place) => `&projectId=${place.project}`)
    rows.push({ filter, project, ...(filter in filters && { all: await measure(() => '') }) })
  }
  return rows
}

async function percentiles(url: string, token: string, path: () => string): Promise<Percentiles> {
  const [taken, tasks] = [build(), build()]
  for (let n = 0; n < times.warmUp + times.measured; n++) {
    const target = `${url}/api/v1${path()}`
    const began = performance.now()
    const response = await fetch(target, { headers: { authorization: `Bearer ${token}` } })
    const body = (await response.json()) as object[]
    if (response.status !== 200) throw new Error(`GET ${target} answered ${response.status}`)
    if (n < times.warmUp) continue
    taken.recordValue(Math.round((performance.now() - began) * 1_000))
    tasks.recordValue(body.length)
  }
  const at = (percentile: number) => taken.getValueAtPercentile(percentile) / 1_000
  return { p50Ms: at(50), p95Ms: at(95), tasks: tasks.getValueAtPercentile(50) }
}
