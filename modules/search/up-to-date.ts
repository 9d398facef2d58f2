import type { Caller } from '../../src/identity/rights.ts'
import type { Database } from '../../src/postgres/database.ts'
import type { Demand } from '../../src/reads/standbys.ts'
import { visibleProjectIds } from '../../src/reads/visible.ts'
import type { Services } from '../../src/services.ts'
import { fillNext, indexEvents, isBehind, maxProjects, readProgress, type Progress } from './indexing.ts'

/** A search counts as one read, and one more for each 100 projects. */
const projectsPerRead = 100

/** Returns a function that runs a search in one project, or in all projects of the caller, when they are indexed. */
export const openScope =
  (services: Services) =>
  async (caller: Caller, projectId: string | undefined, respond: (scope: Scope) => Promise<Response>) => {
    const projectIds = projectId ? [projectId] : await visibleProjectIds(services.database.reads, caller)
    return services.charge(caller, 1 + projectIds.length / projectsPerRead, async () =>
      respond(await bringUpToDate(services, projectIds)),
    )
  }

/** A search of one project may use a standby with the same documents. */
export const poolFor = ({ database, place }: Services, { demand }: Scope) =>
  demand ? place(database.searches, demand) : database.searches

/** Sets the header that shows how much of the documents is indexed. */
export function withIndexed(response: Response, indexed: string): Response {
  response.headers.set('docket-indexed', indexed)
  return response
}

/** A search always indexes this number of missing events. If more are missing, it indexes for a limited time. */
const fewEvents = 2_000
const maxMs = { few: 10_000, many: 500 }
/** While a project is being filled, the filled part is not 100. */
const maxPercent = 99

/** The projects of a search that exist, those with the newest events first. */
export interface Scope {
  projectIds: string[]
  /** The approximate number of documents: the number of events, because each document has an event. */
  documents: number
  /** `all`, the filled part as a percentage, or `behind: ` with the number of missing events. */
  indexed: string
  /** The state of the only project, if all its documents are indexed. */
  demand?: Demand | undefined
}

/** Indexes the events that were committed before the call, up to the limits above. An error does not fail the search. */
async function bringUpToDate(
  { database, log }: Pick<Services, 'database' | 'log'>,
  projectIds: string[],
): Promise<Scope> {
  const startedAt = performance.now()
  let all = await readProgress(database.reads, projectIds)
  const targets = new Map(all.map(({ projectId, version }) => [projectId, version]))
  const missingOf = (one: Progress) => missingEvents(one, targets.get(one.projectId))
  const endsAt = startedAt + maxMs[sumOf(all, missingOf) <= fewEvents ? 'few' : 'many']
  for (let behind = all.filter(missingOf); behind.length > 0; behind = all.filter(missingOf)) {
    const error = await indexShared(database, behind.slice(0, maxProjects)).catch((error: unknown) => error)
    all = await readProgress(database.reads, projectIds)
    if (error) log.warn({ reason: String(error) }, 'a search could not index all changes')
    if (error || performance.now() > endsAt) break
  }
  const tasks = sumOf(all, ({ lastNumber }) => lastNumber)
  const percent = Math.floor((100 * sumOf(all, ({ filled }) => filled)) / Math.max(1, tasks))
  const missing = sumOf(all, missingOf)
  const state = missing > 0 ? `behind: ${missing}` : 'all'
  const indexed = all.some(({ isFilling }) => isFilling) ? `${Math.min(percent, maxPercent)}%` : state
  return {
    projectIds: all.map(({ projectId }) => projectId),
    documents: sumOf(all, ({ version }) => version),
    indexed,
    demand: all.length === 1 && indexed === 'all' ? { projects: all, indexed: all[0]! } : undefined,
  }
}

const sumOf = (all: Progress[], countOf: (one: Progress) => number) =>
  all.reduce((sum, one) => sum + countOf(one), 0)

/** A search fills small projects itself. Workers fill the others. */
const needsFill = ({ isFilling, version }: Progress) => isFilling && version <= fewEvents

function missingEvents(one: Progress, target = one.version): number {
  if (needsFill(one)) return one.version
  return isBehind(one, target) ? Math.max(1, target - one.seq) : 0
}

/** Concurrent searches of a process index a project once. */
const running = new Map<string, Promise<void>>()

async function indexShared({ indexing }: Database, behind: Progress[]): Promise<void> {
  const own = behind.filter(({ projectId }) => !running.has(projectId))
  const index = async () => {
    await indexEvents(
      indexing,
      own.filter((one) => isBehind(one)),
    )
    for (const { projectId } of own.filter(needsFill)) await fillNext(indexing, projectId)
  }
  const step = index().finally(() => own.forEach(({ projectId }) => running.delete(projectId)))
  for (const { projectId } of own) running.set(projectId, step)
  await Promise.all(behind.map(({ projectId }) => running.get(projectId)))
}
