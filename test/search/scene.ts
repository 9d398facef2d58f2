import { allPages, type Answer, type Body, type Client, make, makeTasks } from '../kit.ts'

export interface Hit {
  type: 'task' | 'comment' | 'project'
  id: string
  projectId: string
  taskId: string | null
  title: string
  snippet: { text: string; matches: [number, number][] }
  fuzzy?: true
}

/** Further parameters of a search. */
export interface More {
  [name: string]: string | undefined
}

const pathOf = (path: string, q: string, more: More): string => {
  const given = Object.entries(more).filter((one): one is [string, string] => one[1] !== undefined)
  return `${path}?${new URLSearchParams([['q', q], ...given])}`
}

export const get = (client: Client, path: string, q: string, more: More = {}): Promise<Answer> =>
  client.get(pathOf(path, q, more))

export const pagesOf = (client: Client, path: string, q: string, more: More = {}): Promise<Body[][]> =>
  allPages(client, pathOf(path, q, more))

/** Returns all hits of `GET /search`. @throws unless every page has the status 200 */
export const search = async (client: Client, q: string, more: More = {}): Promise<Hit[]> =>
  (await pagesOf(client, '/search', q, { limit: '200', ...more })).flat() as unknown as Hit[]

/** Returns all tasks of `GET /tasks?q=`. */
export const listTasks = async (client: Client, q: string, more: More = {}): Promise<Body[]> =>
  (await pagesOf(client, '/tasks', q, { limit: '200', ...more })).flat()

/** Returns the ids of the hits without similar titles. */
export const searchIds = async (client: Client, q: string, more: More = {}): Promise<string[]> =>
  (await search(client, q, more)).filter(({ fuzzy }) => !fuzzy).map(({ id }) => id)

export const indexedOf = async (client: Client, path = '/search?q=x') =>
  (await client.get(path)).headers.get('docket-indexed')

/** Returns the text of a snippet with its matches between brackets. */
export const marked = ({ snippet: { text, matches } }: Hit): string =>
  matches.toReversed().reduce((all, [start, end]) => {
    return `${all.slice(0, start)}[${all.slice(start, end)}]${all.slice(end)}`
  }, text)

export const task = async (client: Client, projectId: string, title: string, over: object = {}) =>
  (await make(client, '/tasks', { projectId, title, ...over })).id

/** Creates tasks whose titles end with 1 to `count`. */
export async function createMany(client: Client, projectId: string, count: number, title: string) {
  const [most, titleOf] = [500, (n: number) => ({ title: `${title} ${n}` })]
  for (let last = 0; last < count; last += most)
    await makeTasks(client, projectId, Math.min(most, count - last), (n) => titleOf(last + n))
}
