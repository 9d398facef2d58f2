import type { Sql } from '../../../src/postgres/database.ts'
import { unavailable } from '../../../src/responses/errors.ts'
import { type Behind, filledPart, findBehind, startMissingFills } from './positions.ts'
import { SharedSteps } from './shared-steps.ts'
import { maxHeldSteps, maxProjects, openSteps } from './step.ts'

/** A reader fills a project up to this version itself. A worker fills larger projects. */
const maxVersionToFill = 20_000

/** The most projects that wait at the same time, of a reader alone and of one of several, so that all have places in a step. */
const maxWaitingProjects = { alone: maxProjects, shared: 25 }

export type SearchIndex = ReturnType<typeof openSearchIndex>

/**
 * @param sql for the steps
 * @param timeoutMs after this time a reader gets 503
 * @param reads for short reads
 */
export function openSearchIndex(sql: Sql, timeoutMs: number, reads = sql) {
  const { indexChanges, fillPages } = openSteps(sql)
  const changes = new SharedSteps({ projects: maxProjects, slots: 2 }, indexChanges)
  const pages = new SharedSteps({ projects: maxProjects, slots: 1 }, fillPages)

  async function catchUp(projects: Behind[]): Promise<Behind[]> {
    await startMissingFills(sql, projects)
    const { filling, isComplete } = await repeat(changes, projects, timeoutMs)
    if (!isComplete) throw unavailable('The search index is not up to date')
    return filling
  }

  return {
    /**
     * Indexes the changes that were committed before the call. `indexed` is the filled part of the tasks in percent
     * while the first fill of a project runs. @throws HttpError 503
     */
    async bringUpToDate(projectIds: string[]): Promise<{ indexed: 'all' | number }> {
      const behind = await findBehind(reads, projectIds)
      if (behind.length === 0) return { indexed: 'all' }
      const filling = await catchUp(behind)
      if (filling.length === 0) return { indexed: 'all' }
      const small = filling.filter(({ version }) => version <= maxVersionToFill)
      // After the time-out, the search shows the part that is filled.
      await repeat(pages, small, timeoutMs)
      // A task that moved before the fill read it is in a later event of its new project.
      await catchUp(await findBehind(reads, projectIds))
      return { indexed: await filledPart(reads, projectIds) }
    },
  }
}

/**
 * Repeats the steps of projects until none is left, or the time is over. Later changes, which other processes may index
 * at the same time, do not delay the reader. Also returns the projects whose first fill is not complete.
 */
async function repeat(steps: SharedSteps, projects: Behind[], timeoutMs: number) {
  const endsAt = performance.now() + timeoutMs
  const filling = new Set<Behind>()
  const queue = projects.values()
  let isComplete = true
  const runNext = async () => {
    for (const project of queue) {
      let [isLeft, heldSteps] = [true, 0]
      while (isLeft && performance.now() < endsAt) {
        const { projectId, version: target } = project
        const isLate = heldSteps >= maxHeldSteps
        const outcome = await steps.next({ projectId, target, isLate, endsAt })
        isLeft = outcome.isLeft
        if (outcome.isHeld) heldSteps++
        if (outcome.isFilling) filling.add(project)
      }
      isComplete &&= !isLeft
    }
  }
  const places = maxWaitingProjects[steps.isIdle ? 'alone' : 'shared']
  const count = Math.min(places, projects.length)
  await Promise.all(Array.from({ length: count }, runNext))
  return { filling: [...filling], isComplete }
}
