import { build, type Histogram } from 'hdr-histogram-js'
import { openClient } from '../test/support/client.ts'
import type { SearchData } from './search-data.ts'
import { kinds, openSearches, type ScopeName, scopes, type SearchRequest } from './search-queries.ts'

/** Milliseconds of one search at a time: for each kind of search, in each scope. */
export interface Latencies {
  kinds: { kind: string; scopes: Record<ScopeName, Percentiles> }[]
  /** Searches without the status 200 or without a complete index. */
  failures: string[]
}

interface Percentiles {
  p50Ms: number
  p95Ms: number
}

export interface BesideCreates {
  searches: Record<ScopeName, Percentiles>
  /** Searches whose header says that events are not indexed yet. */
  behind: number
  /** Tasks that were created during the searches, and those that the next search with a complete index did not find. */
  created: number
  notFound: number
  failures: string[]
}

const times = { warmUp: 5, measured: 50 }
const createEvery = 10
const pauseMs = 20

export async function measureLatencies(url: string, data: SearchData): Promise<Latencies> {
  const searchOf = openSearches(data)
  const latencies: Latencies = { kinds: [], failures: [] }
  for (const kind of kinds) {
    const ofScopes = openHistograms()
    for (const scope of scopes)
      for (let n = 0; n < times.warmUp + times.measured; n++) {
        const { taken, indexed } = await search(url, searchOf(scope, kind), latencies.failures)
        if (indexed !== 'all') latencies.failures.push(`${kind.title}: indexed: ${indexed}`)
        if (n >= times.warmUp) ofScopes[scope].recordValue(taken)
      }
    latencies.kinds.push({ kind: kind.title, scopes: percentilesOf(ofScopes) })
  }
  return latencies
}

/** Sends one search at a time until `load` ends. Every tenth round, creates a task and searches for it. */
export async function searchUntil(
  load: Promise<unknown>,
  url: string,
  data: SearchData,
): Promise<BesideCreates> {
  const [searchOf, ofScopes] = [openSearches(data), openHistograms()]
  const failures: string[] = []
  let [isOver, behind, created, notFound] = [false, 0, 0, 0]
  void load.catch(() => {}).finally(() => (isOver = true))
  for (let round = 0; !isOver; round++) {
    for (const scope of scopes) {
      const request = searchOf(scope, kinds[round % kinds.length]!)
      const { taken, indexed } = await search(url, request, failures)
      ofScopes[scope].recordValue(taken)
      if (indexed !== 'all') behind++
      await Bun.sleep(pauseMs)
    }
    if (round % createEvery) continue
    const isFound = await isFoundAtOnce(url, data, round)
    if (isFound !== undefined) created++
    if (isFound === false) notFound++
  }
  return { searches: percentilesOf(ofScopes), behind, created, notFound, failures }
}

/** Returns the microseconds of a search, and how much was indexed. */
async function search(url: string, { token, path }: SearchRequest, failures: string[]) {
  const began = performance.now()
  const { status, headers } = await openClient(url, token).get(path)
  const taken = Math.round((performance.now() - began) * 1_000)
  if (status !== 200) failures.push(`${decodeURIComponent(path)} answered ${status}`)
  return { taken, indexed: headers.get('docket-indexed') }
}

/** Returns undefined if the server sheds the create, or has not indexed everything. */
async function isFoundAtOnce(url: string, { owner, projects }: SearchData, round: number) {
  const client = openClient(url, owner.token)
  const word = `fresh${round}x${Date.now()}`
  const projectId = projects[round % projects.length]
  const { status, body } = await client.post('/tasks', { title: `A ${word}`, projectId })
  if (status !== 201) return undefined
  const found = await client.get(`/search?q=${word}`)
  return found.headers.get('docket-indexed') === 'all' ? found.body[0]?.id === body.id : undefined
}

const openHistograms = () =>
  Object.fromEntries(scopes.map((scope) => [scope, build()])) as Record<ScopeName, Histogram>

const percentilesOf = (all: Record<ScopeName, Histogram>) =>
  Object.fromEntries(
    scopes.map((scope) => {
      const at = (percentile: number) => all[scope].getValueAtPercentile(percentile) / 1_000
      return [scope, { p50Ms: at(50), p95Ms: at(95) }]
    }),
  ) as Record<ScopeName, Percentiles>
