import { migrate } from '../../drizzle/migrate.ts'
import { type Answer, type Body, invite, make, nilId, openTestService, register } from '../kit.ts'
import { type UndoResponse } from '../kit.ts'

export type Row = Body & { tagIds: string[]; mainTagId: string | null; details: unknown }

const url = process.env.DATABASE_URL!
await migrate(url)
export const service = await openTestService({ DATABASE_URL: url, REDIS_URL: process.env.REDIS_URL! })
service.startWorkers()
afterAll(() => service.close())
export const sql = service.services.database.reads
export const ada = await register(service.client, 'Ada')
export const [bea, carl] = [await register(service.client, 'Bea'), await register(service.client, 'Carl')]

/** Creates a project with these EDITORs. */
export async function newProject(members = [bea, carl]): Promise<string> {
  const { id } = await make(ada, '/projects', { name: 'P' })
  for (const person of members) await invite(ada, id, person, 'EDITOR')
  return id
}

export async function createPlace(): Promise<{ projectId: string; taskId: string }> {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const { id: taskId } = await make(ada, '/tasks', { title: 'T', projectId })
  return { projectId, taskId }
}
export type Place = Awaited<ReturnType<typeof createPlace>>

export const created = async (path: string, body: object): Promise<Row> =>
  (await make(ada, path, body)) as Row
export const rowsAt = async (path: string): Promise<Row[]> => (await ada.get(path)).body as unknown as Row[]
export const readTask = async (id: string) => (await ada.get(`/tasks/${id}`)).body as Row
export const batch = ({ projectId }: Place, operations: object[], query = '') =>
  ada.post(`/projects/${projectId}/batch${query}`, { operations })

export const undo = async (projectId: string, seq: number): Promise<UndoResponse> => {
  const { status, body, text } = await ada.post(`/projects/${projectId}/undo`, { seq })
  if (status !== 200) throw new Error(`${status} ${text}`)
  return body as unknown as UndoResponse
}
/** Deletes the search index of a project, so that workers fill it again. */
export async function refillIndex(projectId: string): Promise<void> {
  const start = { task: nilId, id: nilId, number: 0 }
  await sql`update search_cursors set fill = ${sql.json(start)} where project_id = ${projectId}`
  await sql`update search_documents set doc = '' where project_id = ${projectId}`
}

export const origin = 'http://localhost'
/** Sends a request of a client library to the service. */
export const send = (url: string, init?: RequestInit) => service.fetch(url.slice(origin.length), init)
export const titles = (tasks: { title?: unknown }[]) => tasks.map(({ title }) => title).join('')
export const errorOf = ({ status, body }: Answer) => [status, body.message]
