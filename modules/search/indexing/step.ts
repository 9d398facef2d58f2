import type { Sql } from '../../../src/postgres/database.ts'
import { type Changes, readChanges } from './changes.ts'
import { clearPage } from './clear.ts'
import { readPages } from './fill-pages.ts'
import { type IsLate, planMoves } from './moves.ts'
import { forgetDeleted } from './positions.ts'
import { RecentWords } from './recent-words.ts'
import { writeChanges } from './write.ts'

/** The most projects of one step. */
export const maxProjects = 100
/**
 * After so many steps, a project no longer waits until moved tasks are indexed in their new projects. Not a time: a slow
 * process would hide the tasks.
 */
export const maxHeldSteps = 30
/** Shorter than the time for which a word stays in `search_words` after its last document. */
const keepWordsMs = 600_000

export interface Progress {
  /** Projects that have more to read, that another process indexed at the same time, or that others wait for. */
  left: string[]
  /** Projects that wait until moved tasks are indexed in their new projects. */
  held: string[]
  /** Projects whose first fill is not complete. */
  filling: string[]
}

/** The versions up to which projects are indexed. */
type Targets = Map<string, number>

export type Steps = ReturnType<typeof openSteps>

/** Returns a function that writes what the steps read. */
function openWrite(sql: Sql) {
  const recentWords = new RecentWords(keepWordsMs)
  return async (all: Changes[], targets?: Targets, isLate: IsLate = () => false): Promise<Progress> => {
    const [existing, deleted] = [all.filter(({ exists }) => exists), all.filter(({ exists }) => !exists)]
    if (deleted.length > 0) await forgetDeleted(sql, idsOf(deleted))
    const { together, others, first, held } = await planMoves(sql, existing.filter(hasMoved), isLate)
    for (const { projectId, seq } of first)
      targets?.set(projectId, Math.max(seq, targets.get(projectId) ?? 0))
    const written = new Set([
      ...(await writeChanges(sql, others, recentWords)),
      ...(await writeChanges(sql, together, recentWords, 'all')),
    ])
    const isLost = (one: Changes) => hasMoved(one) && !written.has(one.position.projectId)
    const left = existing.filter((one) => one.hasMore || isLost(one))
    return {
      left: [...new Set([...idsOf(left), ...first.map(({ projectId }) => projectId)])],
      held: [...held],
      filling: fillingIn(existing),
    }
  }
}

/** Returns the steps that index at most `maxProjects` projects. Any number of processes may run the same steps. */
export function openSteps(sql: Sql, maxEvents?: number) {
  const write = openWrite(sql)

  return {
    /**
     * Indexes the next changes of projects that are not indexed up to the versions in `targets`. Adds the targets of
     * projects that must be indexed first.
     */
    async indexChanges(projectIds: string[], targets?: Targets, isLate?: IsLate) {
      const all = await readChanges(sql, projectIds, maxEvents)
      const isDone = ({ position, next }: Changes) =>
        position.seq >= (targets?.get(position.projectId) ?? Infinity) && !isCleared(next)
      const [done, left] = [all.filter(isDone), all.filter((one) => !isDone(one))]
      const progress = await write(left, targets, isLate)
      return { ...progress, filling: [...progress.filling, ...fillingIn(done)] }
    },

    /** Indexes the next rows of the first fill. */
    async fillPages(projectIds: string[]) {
      const pages = await readPages(sql, projectIds)
      for (const { position } of pages)
        if (position.fill && 'clears' in position.fill) await clearPage(sql, position.projectId)
      return write(pages)
    },
  }
}

const idsOf = (all: Changes[]): string[] => all.map(({ position }) => position.projectId)

const fillingIn = (all: Changes[]) => idsOf(all.filter(({ next }) => next.fill !== null))

const isCleared = ({ fill }: Changes['next']) => fill !== null && 'clears' in fill

const hasMoved = ({ position, next }: Changes): boolean =>
  position.seq !== next.seq || position.eventId !== next.eventId || position.fill !== next.fill
