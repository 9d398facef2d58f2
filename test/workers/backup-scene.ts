import { join } from 'node:path'
import { withConnections } from '../../drizzle/migrate.ts'
import { forFile, make, newFolder, openTestService, readConfig, register } from '../kit.ts'
import { emptyDatabase } from '../processes/launch.ts'
import { execute } from './run-admin.ts'

/** Texts that COPY must escape, or that look like the end of a table. */
const texts = [
  'tab\tand\nline\r\nends',
  '\\.',
  'a\n\\.\nb',
  '\\N',
  '"quoted", {json}',
  '𝄞 ünïcode',
  'x'.repeat(20_000),
]

export type BackupScene = Awaited<ReturnType<typeof openBackupScene>>

export async function openBackupScene() {
  const dir = await newFolder()
  const service = await forFile(openTestService())
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Kept', description: texts[0] })
  const project = `/projects/${projectId}`
  const guest = await register(service.client)
  await ada.post(`${project}/members/invite`, { email: guest.email, role: 'EDITOR' })
  const { id: taskId } = await make(ada, '/tasks', { title: 'Kept', projectId, description: texts[1] })
  for (const text of texts) await make(ada, `/tasks/${taskId}/comments`, { text })
  await make(ada, `${project}/webhooks`, { url: 'http://127.0.0.1:9/' })
  const expiresAt = new Date(Date.now() + 3_600_000)
  await make(ada, '/tokens', { name: 'Kept', scopes: ['read'], expiresAt })
  await ada.delete(`/tasks/${(await make(ada, '/tasks', { title: 'Deleted', projectId })).id}`)
  const paths = [
    ...['/auth/me', '/projects', '/tokens', project, `${project}?asOf=1`, `${project}/members`],
    ...[`${project}/webhooks`, `${project}/events`, `${project}/history`, `/tasks?projectId=${projectId}`],
    ...[`/tasks/${taskId}`, `/tasks/${taskId}/comments`, `/tasks/${taskId}/history`, '/search?q=kept'],
  ]
  return {
    ...{ dir, service, ada },
    own: service.env.DATABASE_URL!,
    newFile: () => join(dir, crypto.randomUUID()),

    async fresh(): Promise<string> {
      return (await forFile(emptyDatabase())).url
    },

    async admin(databaseUrl: string, ...words: string[]) {
      const config = readConfig({ ...service.env, DATABASE_URL: databaseUrl })
      return withConnections(databaseUrl, (sql) => execute(words, { config, sql }))
    },

    /** The responses that a caller with an existing token gets from a service on another database. */
    async answersOn(databaseUrl: string) {
      await using other = await openTestService({ DATABASE_URL: databaseUrl })
      const caller = other.client.as(ada.token)
      const answers = await Promise.all(paths.map((path) => caller.get(path)))
      return answers.map(({ status, text, headers }, at) => [paths[at], status, headers.get('etag'), text])
    },
  }
}
