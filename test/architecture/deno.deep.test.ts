import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freshEnv, forFile } from '../support/service.ts'
import { root } from './source.ts'

const run = promisify(execFile)
const timeoutMs = 100_000
// The launcher of the npm package `deno` would need Node.
const deno = join(root, 'node_modules/deno/bin.cjs')
// Deno uses the installed packages, downloads nothing and writes no lock file.
const flags = ['--node-modules-dir=manual', '--no-lock', '--cached-only', '--no-config', '--allow-all']
const fresh = await forFile(freshEnv())

test('app.fetch serves requests on Deno', async () => {
  const script = join(import.meta.dirname, 'deno-smoke.ts')
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, DENO_NO_UPDATE_CHECK: '1', ...fresh.env }
  const options = { cwd: root, env, timeout: timeoutMs }
  const { stdout } = await run(process.execPath, [deno, 'run', ...flags, script], options)
  const { deno: version, ...results } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  expect(version).toMatch(/^\d+\./)
  expect(results).toEqual({
    listed: [['Draw', 1]],
    rejected: expect.stringContaining('title is required'),
    docs: [200, true],
    ready: [200, { status: 'ok', postgres: 'ok', redis: 'ok' }],
  })
})
