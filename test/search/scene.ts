import { type Answer, type Client, make } from '../support/client.ts'

export interface Hit {
  type: 'task' | 'comment' | 'project'
  id: string
  projectId: string
  taskId: string | null
  title: string
  snippet: { text: string; matches: [number, number][] }
  fuzzy?: true
}

/** Searches for a text; `parameters` is the rest of the query string. @throws unless the status is 200 */
export async function search(client: Client, q: string, parameters = ''): Promise<Hit[]> {
  const answer = await get(client, '/search', q, parameters)
  if (answer.status !== 200) throw new Error(`GET /search answered ${answer.status} ${answer.text}`)
  return answer.body as unknown as Hit[]
}

/** Returns the ids of the hits without similar titles. */
export const exactIds = async (client: Client, q: string, parameters = ''): Promise<string[]> =>
  (await search(client, q, parameters)).filter(({ fuzzy }) => !fuzzy).map(({ id }) => id)

export const get = (client: Client, path: string, q: string, parameters = ''): Promise<Answer> =>
  client.get(`${path}?q=${encodeURIComponent(q)}${parameters && `&${parameters}`}`)

export const titlesOf = (rows: { title: string }[]): string[] => rows.map(({ title }) => title)

/** The matched words of a snippet, as its offsets select them. */
export const matchedIn = ({ snippet: { text, matches } }: Hit): string[] =>
  matches.map(([start, end]) => text.slice(start, end))

export const project = async (client: Client, name = 'Project', description?: string): Promise<string> =>
  (await make(client, '/projects', { name, description })).id

export const task = async (client: Client, projectId: string, title: string, over: object = {}) =>
  (await make(client, '/tasks', { projectId, title, ...over })).id

export const comment = async (client: Client, taskId: string, text: string): Promise<string> =>
  (await make(client, `/tasks/${taskId}/comments`, { text })).id
