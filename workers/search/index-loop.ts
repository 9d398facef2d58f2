import { setTimeout as sleep } from 'node:timers/promises'
import { findBehind, startMissingFills } from '../../modules/search/indexing/positions.ts'
import { maxHeldSteps, maxProjects, type Steps } from '../../modules/search/indexing/step.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { isTransient } from '../../src/postgres/errors.ts'
import type { ChangedProjects } from './changed-projects.ts'

/** Changes within this time are indexed together. */
const collectMs = 50
/** The pause in which changes collect, as a multiple of the time that the last changes took. Many together cost less. */
const pauses = { factor: 3, maxMs: 300 }
const retryMs = 1_000

interface Options {
  sql: Sql
  steps: Steps
  changed: ChangedProjects
  isActive(): boolean
  pauseMs: number
  warn(error: unknown): void
}

/** Indexes changed projects soon after `wake`. */
export function openIndexLoop(options: Options) {
  const { changed, isActive, warn } = options
  const index = openIndex(options)
  let running: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  async function run(): Promise<void> {
    while (changed.size > 0 && isActive()) {
      const taken = changed.take(maxProjects)
      const left = await index([...taken.keys()]).catch((error) => {
        warn(error)
        return sleep(retryMs, [])
      })
      changed.done()
      // At the end, so that a project with many changes does not delay the others.
      if (isActive()) for (const projectId of left) changed.add(projectId, taken.get(projectId))
    }
    running = undefined
  }

  return {
    wake(): void {
      if (running) return
      timer ??= setTimeout(() => {
        timer = undefined
        running = run()
      }, collectMs)
    },
    async stop(): Promise<void> {
      clearTimeout(timer)
      await running
    },
  }
}

/**
 * Returns a function that indexes the next changes of projects, and returns the projects that have more. A project that
 * cannot be indexed does not delay the others: the sweep finds the project again.
 */
function openIndex({ sql, steps, pauseMs, warn }: Options) {
  const heldSteps = new Map<string, number>()
  const isLate = (projectId: string) => (heldSteps.get(projectId) ?? 0) >= maxHeldSteps

  async function indexNext(projectIds: string[]): Promise<string[]> {
    const behind = await findBehind(sql, projectIds)
    await startMissingFills(sql, behind)
    if (behind.length === 0) return []
    const startedAt = performance.now()
    const ids = behind.map(({ projectId }) => projectId)
    const { left, held } = await steps.indexChanges(ids, undefined, isLate)
    for (const id of ids)
      if (held.includes(id)) heldSteps.set(id, (heldSteps.get(id) ?? 0) + 1)
      else heldSteps.delete(id)
    const longPauseMs = left.length > 0 ? 0 : (performance.now() - startedAt) * pauses.factor
    await sleep(Math.max(pauseMs, Math.min(longPauseMs, pauses.maxMs)))
    return left
  }
  return async (projectIds: string[]): Promise<string[]> => {
    try {
      return await indexNext(projectIds)
    } catch (error) {
      if (projectIds.length === 1 || isTransient(error)) throw error
      const left: string[] = []
      const add = (some: string[]) => void left.push(...some)
      for (const projectId of projectIds) await indexNext([projectId]).then(add, warn)
      return left
    }
  }
}
