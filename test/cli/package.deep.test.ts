import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { commands } from '../../clients/cli/src/commands.ts'
import { openPages } from '../docs/shell.ts'
import { forFile, make, newFolder, openWebProcess, read, root } from '../kit.ts'
import { openForwardProxy } from './forward-proxy.ts'
import { execute, installPackage } from './process.ts'

const { ada, web } = await forFile(openWebProcess({}))
const { id } = await make(ada, '/projects', { name: 'Engine' })
const folder = await newFolder()
const env = { HOME: folder, npm_config_update_notifier: 'false' }
const session = { DOCKET_URL: web.url, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id }

await installPackage('clients/cli', folder)
const installed = join(folder, 'node_modules/docket-cli')
const file = join(installed, 'dist/docket.js')

test('the package contains one file of code, and npx runs it', async () => {
  expect((await readdir(installed)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
  expect(await readdir(join(installed, 'dist'))).toEqual(['docket.js'])
  const manifest = await Bun.file(join(installed, 'package.json')).json()
  expect([manifest.dependencies, manifest.bin]).toEqual([undefined, { docket: 'dist/docket.js' }])
  const publint = join(root, 'node_modules/.bin/publint')
  expect(await execute([publint, 'run', installed, '--strict', '--pack', 'false'])).toMatchObject({ code: 0 })
  const { code, out } = await execute(['npx', '--no-install', 'docket', '--help'], { cwd: folder, env })
  expect([code, out]).toEqual([0, expect.stringContaining('claim-next')])
})

test.each([
  ['Node', ['node']],
  ['Bun', [process.execPath]],
  ['Deno', [process.execPath, join(root, 'node_modules/deno/bin.cjs'), 'run', '-A', '--no-config']],
])('runs on %s', async (name, runtime) => {
  const all = { ...env, ...session, DENO_NO_UPDATE_CHECK: '1' }
  const proxy = await forFile(openForwardProxy(web.url))
  const proxied = { ...all, HTTP_PROXY: proxy.url }
  for (const [line, given] of [
    [['add', name, '--external-id', name], all],
    [['tail', '--after', '0', '--limit', '1'], all],
    [['claim-next', '--exec', `test "$DOCKET_TASK_TITLE" = ${name}`], all],
    [['tasks'], proxied],
  ] as const)
    expect(await execute([...runtime, file, ...line], { env: given })).toMatchObject({ code: 0, err: '' })
  const wrong = await execute([...runtime, file, 'tasks', '--sort', 'title'], { env: all })
  expect(wrong).toMatchObject({ code: 2, out: '' })
  expect(proxy.requests).toEqual([])
  const named = { ...proxied, DOCKET_URL: 'http://docket.test' }
  const listed = await execute([...runtime, file, 'tasks', '--external-id', name, '--json'], { env: named })
  expect(JSON.parse(listed.out)).toMatchObject([{ title: name, status: 'DONE' }])
  expect(proxy.requests.length).toBeGreaterThan(0)
})

test('every shell block of the README prints the output that the page shows, and the README names every command', async () => {
  const page = 'clients/cli/README.md'
  const runPage = await openPages()
  const home = await newFolder()
  await symlink(file, join(home, 'docket'))
  const first = `. docs/sign-in.sh; PATH="${home}:$PATH" HOME="${home}"; unset XDG_CONFIG_HOME; export HOME PATH`
  expect(await runPage(page, { first })).toEqual([])
  const readme = read(page).text
  expect(commands.filter(({ name }) => !readme.includes(`docket ${name}`))).toEqual([])
}, 300_000)
