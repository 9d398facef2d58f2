import { allPages, type Body, make, type Person, versionOf } from '../kit.ts'
import { batchResult } from './batch-scene.ts'

export interface Place {
  before?: string
  after?: string
  place?: 'first' | 'last'
}

/** Enough tasks in one place that the tasks around it get new keys. */
export const fillers = 300

/** A project whose tasks have titles of one letter. */
export async function openOrder(user: Person, titles: string) {
  const { id: projectId } = await make(user, '/projects', { name: 'Board' })
  const ids = new Map<string, string>()
  const at = (title: string) => ids.get(title)!
  const add = async (title: string, fields: object = {}): Promise<Body> => {
    const task = await make(user, '/tasks', { title, projectId, ...fields })
    ids.set(title, task.id)
    return task
  }
  for (const title of titles) await add(title)
  /** The titles in the order of positions, read in small pages. */
  const order = async (query = '', limit = 3) => {
    const pages = await allPages(user, `/tasks?projectId=${projectId}&sort=position&limit=${limit}${query}`)
    return pages
      .flat()
      .map(({ title }) => title)
      .join('')
  }
  const version = () => versionOf(user, projectId)
  const batch = (operations: object[]) => user.post(`/projects/${projectId}/batch`, { operations })
  return {
    ...{ projectId, ids, at, add, order, version, batch },
    put: (title: string, place: Place & { status?: string; projectId?: string }) =>
      user.patch(`/tasks/${at(title)}`, place),
    undo: (selection: object, by = user, query = '') =>
      by.post(`/projects/${projectId}/undo${query}`, selection),
    /** The order of the tasks that `respace` did not create. */
    letters: async (query = '') => (await order(query, 200)).replaceAll('-', ''),
    /** Places tasks directly after or before a task until other tasks get new keys. */
    async respace(id: string, side: 'after' | 'before' = 'after'): Promise<void> {
      const from = await version()
      const operation = { op: 'task.create', title: '-', [side]: id }
      const answer = await batch(Array.from({ length: fillers }, () => operation))
      expect(batchResult(answer).version).toBeGreaterThan(from + fillers)
    },
  }
}
