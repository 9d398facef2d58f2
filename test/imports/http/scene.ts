import { type Client, make, openProject, openTeam, type Person, register, type Sql } from '../../kit.ts'

export const csv = 'title,status\nDraw the plate,TODO\n'

export async function openImportScene(env: Record<string, string> = {}) {
  const scene = await openTeam([], env)
  const { client, people, sql } = scene
  return {
    ...scene,
    /** A project of a new account, which has no other import. */
    async newProject(): Promise<{ owner: Person; projectId: string }> {
      const owner = await register(client)
      return { owner, projectId: (await make(owner, '/projects', { name: 'P' })).id }
    },
    newTeamProject: () => openProject(people),
    set: (id: string, values: Record<string, unknown>) =>
      sql`update imports set ${sql(values)} where id = ${id}`,
    end: (id: string, values: Record<string, unknown> = {}) =>
      sql`update imports set ${sql({ state: 'done', finished_at: new Date().toISOString(), ...values })} where id = ${id}`,
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
  const chunks = await sql<{ n: number; bytes: Buffer }[]>`
    select n, bytes from import_chunks where import_id = ${importId} order by n`
  return Buffer.concat(chunks.map(({ bytes }) => bytes))
}

export const rowsOf = async (sql: Sql, projectId: string) =>
  (await sql`select id from imports where project_id = ${projectId}`).length
