import { join } from 'node:path'
import { start } from '../cli/process.ts'
import { eventually, forFile, freshEnv, make, openClient, register, root } from '../kit.ts'

// The launcher of the npm package `deno` would need Node.
const deno = [process.execPath, join(root, 'node_modules/deno/bin.cjs'), 'run']
// Deno uses the installed packages, downloads nothing and writes no lock file.
const flags = ['--node-modules-dir=manual', '--no-lock', '--cached-only', '--no-config', '--allow-all']

test('app.fetch serves requests on Deno', async () => {
  const { env } = await forFile(freshEnv())
  const line = [...deno, ...flags, join(import.meta.dirname, 'deno-service.ts')]
  const own = { HOME: process.env.HOME!, DENO_NO_UPDATE_CHECK: '1' }
  const running = await forFile(start(line, { cwd: root, env: { ...env, ...own } }))
  await eventually('the address', () => running.out().endsWith('\n') || running.child.exitCode !== null)
  const ada = await register(openClient(running.out().trim()))
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  await make(ada, '/tasks', { projectId, title: 'Draw' })
  expect((await ada.get(`/tasks?projectId=${projectId}`)).body).toMatchObject([{ title: 'Draw', number: 1 }])
  expect((await ada.post('/tasks', { projectId })).body.message).toContain('title is required')
  expect((await ada.get('/../docs')).text).toContain('swagger-ui')
  const ready = { status: 'ok', postgres: 'ok', redis: 'ok' }
  expect((await ada.get('/../../health/ready')).body).toEqual(ready as never)
})
