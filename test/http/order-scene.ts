import { allPages, type Body, make, type Person } from '../kit.ts'

export interface Place {
  before?: string
  after?: string
  place?: 'first' | 'last'
}

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
  const put = (title: string, place: Place & object) => user.patch(`/tasks/${at(title)}`, place)
  const version = async () => {
    const { headers } = await user.get(`/projects/${projectId}`)
    return Number(headers.get('docket-version'))
  }
  const undo = (selection: object) => user.post(`/projects/${projectId}/undo`, selection)
  const batch = (operations: object[]) => user.post(`/projects/${projectId}/batch`, { operations })
  return { projectId, ids, at, add, order, put, version, undo, batch }
}
