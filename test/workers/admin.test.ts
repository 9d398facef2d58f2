import { make, openScene } from '../kit.ts'
import { wordsOf } from '../cli/scene.ts'
import { run } from '../processes/launch.ts'
import { testSessions } from '../support/http-sessions.ts'
import { execute } from './run-admin.ts'

const { service, client, ada, sql } = await openScene(['Ada'], { JOB_ATTEMPTS: '1' })
const { config, database } = service.services
// All commands must work without JWT_SECRET.
const context = { config: { ...config, jwtSecret: '' }, sql: database.background }
service.startWorkers()

testSessions('test/workers/sessions/admin', () => {
  const values = { password: '' }
  const commands = {
    async admin(words: string) {
      const { code, text } = await execute(wordsOf(words), context)
      values.password = / password (\S{20})/.exec(text)?.[1] ?? values.password
      return code === 0 ? text : `${text.replace(/\n\nnpm run admin -- …\n[^]*/, '\n(help)')}\n[${code}]`
    },
  }
  return { client, sql, values, commands }
})

test('npm run admin uses the database of DATABASE_URL, and prints help without a database', async () => {
  const { code, output } = await run('admin', {})
  expect(code).toBe(0)
  for (const words of ['users create <email> <name>', 'jobs retry <id|all>', 'webhooks list [project]'])
    expect(output).toContain(`  ${words}  `)
  const { id: projectId } = await make(ada, '/projects', { name: 'Listed' })
  const listed = await run(
    'admin',
    { DATABASE_URL: service.env.DATABASE_URL! },
    'projects',
    'list',
    ada.email,
  )
  expect(listed).toEqual({ code: 0, output: expect.stringContaining(projectId) })
  expect((await run('admin', {}, 'sing')).code).toBe(1)
})

test('when an operator deletes a project, its long polls immediately get 404', async () => {
  const { id } = await make(ada, '/projects', { name: 'Doomed' })
  const waiting = ada.get(`/projects/${id}/events?after=1&wait=25`)
  expect(await execute(['projects', 'delete', id], context)).toMatchObject({ code: 0 })
  expect((await waiting).status).toBe(404)
})
