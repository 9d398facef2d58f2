import { runImport } from '../exports/everything.ts'
import { linesOf } from '../exports/scene.ts'
import { type Client, make, openScene, type Person, register, type Sql } from '../kit.ts'

export const csv = 'title,status\nDraw the plate,TODO\n'

export type Row = Record<string, unknown>

export async function openImportScene(env: Record<string, string> = {}) {
  const scene = await openScene([], env)
  const { client, sql } = scene
  return {
    ...scene,
    /** A project of a new account, which has no other import. */
    async newProject(): Promise<{ owner: Person; projectId: string }> {
      const owner = await register(client)
      return { owner, projectId: (await make(owner, '/projects', { name: 'P' })).id }
    },
    set: (id: string, values: Record<string, unknown>) =>
      sql`update imports set ${sql(values)} where id = ${id}`,
    end: (id: string, values: Record<string, unknown> = {}) =>
      sql`update imports set ${sql({ state: 'done', finished_at: new Date().toISOString(), ...values })} where id = ${id}`,
    filesWithoutImport: () =>
      sql`select from import_chunks c where not exists (select from imports where id = c.import_id)`,
  }
}

export const start = (
  client: Client,
  projectId: string,
  file: string | Uint8Array<ArrayBuffer> = csv,
  query = '?source=csv',
  headers: Record<string, string> = {},
) =>
  client.call('POST', `/projects/${projectId}/imports${query}`, file, {
    'content-type': 'text/csv',
    ...headers,
  })

export async function storedFile(sql: Sql, importId: string): Promise<Buffer> {
  const chunks = await sql<{ bytes: Buffer }[]>`
    select bytes from import_chunks where import_id = ${importId} order by n`
  return Buffer.concat(chunks.map(({ bytes }) => bytes))
}

export const rowsOf = async (sql: Sql, projectId: string) =>
  (await sql`select id from imports where project_id = ${projectId}`).length

/** Opens a service with workers. `importFile` imports a file, and reads what the import wrote. */
export async function openImporting() {
  const scene = await openImportScene()
  scene.service.startWorkers()

  async function importFile(
    source: string,
    file: string | object,
    { mapping = {}, into }: { mapping?: object; into?: { owner: Person; projectId: string } } = {},
  ) {
    const { owner, projectId } = into ?? (await scene.newProject())
    const text = typeof file === 'string' ? file : JSON.stringify(file)
    const query = `source=${source}&mapping=${encodeURIComponent(JSON.stringify(mapping))}`
    const ended = await runImport(owner, projectId, text, query)
    const list = async (path: string) => (await owner.get(path)).body as unknown as Row[]
    const lines = await list(`/imports/${ended.id}/report?limit=200`)
    const labels = await list(`/projects/${projectId}/labels`)
    const names = new Map(labels.map(({ id, name }) => [id, name]))
    const { text: exported } = await owner.get(`/projects/${projectId}/export?format=ndjson`)
    const tasks = linesOf(exported)
    const titles = new Map(tasks.map(({ id, title }) => [id, title]))
    return {
      ...ended,
      ...{ owner, projectId, lines, labels },
      tasks: tasks.map((task): Row => ({
        ...task,
        labels: (task.labelIds as string[]).map((id) => names.get(id)),
        blockedBy: (task.blockedByIds as string[]).map((id) => titles.get(id)),
      })),
    }
  }
  return { ...scene, importFile }
}
