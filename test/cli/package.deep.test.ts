import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { commands } from '../../clients/cli/src/commands.ts'
import { blocksOf, difference } from '../docs/page.ts'
import { openPages } from '../docs/shell.ts'
import { forFile, make, newFolder, openTcpProxyTo, openWebProcess, read, root, spawnService } from '../kit.ts'
import { openForwardProxy } from './forward-proxy.ts'
import { execute } from './process.ts'

const scene = await forFile(openWebProcess({}))
const { ada } = scene
const { id } = await make(ada, '/projects', { name: 'Engine' })
const folder = await newFolder()
const env = { HOME: folder, npm_config_update_notifier: 'false', npm_config_cache: join(folder, 'cache') }
const session = { DOCKET_URL: scene.web.url, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id }

async function install() {
  const cwd = join(root, 'clients/cli')
  const packed = await execute(['npm', 'pack', '--json', '--pack-destination', folder], { cwd, env })
  expect(packed).toMatchObject({ code: 0 })
  const [tarball] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  await Bun.write(join(folder, 'package.json'), '{"private":true}')
  const line = ['npm', 'install', '--offline', '--no-audit', '--no-fund', join(folder, tarball!)]
  expect(await execute(line, { cwd: folder, env })).toMatchObject({ code: 0 })
  return join(folder, 'node_modules/docket-cli')
}

const installed = await install()
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
  const proxy = await forFile(openForwardProxy(scene.web.url))
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

test('a web process that dies after the commit creates one task', async () => {
  const { web } = scene
  const state = { isCommitted: false }
  const proxy = await forFile(
    openTcpProxyTo(web.url, {
      intercept(chunk, _, ends) {
        if (state.isCommitted || !chunk.toString().startsWith('HTTP/1.1 201')) return false
        state.isCommitted = true
        web.signal('SIGKILL')
        ends.client.destroy()
        return true
      },
    }),
  )
  const env = { ...session, HOME: folder, DOCKET_URL: proxy.url }
  const adding = execute(['node', file, 'add', 'Once'], { env })
  await web.exited
  await forFile(spawnService('web', { ...scene.env, PORT: new URL(web.url).port }))
  expect(await adding).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Once') })
  expect(state.isCommitted).toBe(true)
  const { body } = await ada.get(`/tasks?projectId=${id}`)
  expect(body.filter(({ title }) => title === 'Once')).toHaveLength(1)
})

test('every shell block of the README prints the output that the page shows, and the README names every command', async () => {
  const page = 'clients/cli/README.md'
  const runPage = await openPages()
  const home = await newFolder()
  await symlink(file, join(home, 'docket'))
  const text = `. docs/sign-in.sh; PATH="${home}:$PATH" HOME="${home}"; unset XDG_CONFIG_HOME; export HOME PATH\n`
  const blocks = blocksOf(page)
  const shells = blocks.filter(({ language }) => language === 'sh')
  const printed = await runPage('sh', [{ language: 'sh', text, line: 0 }, ...blocks])
  expect(printed).toHaveLength(shells.length + 1)
  const wrong = shells.flatMap(({ line, output = '' }, n) => {
    const found = difference(printed[n + 1]!, output)
    return found ? [`${page}:${line} ${found}`] : []
  })
  expect(wrong).toEqual([])
  const readme = read(page).text
  expect(commands.filter(({ name }) => !readme.includes(`docket ${name}`))).toEqual([])
})
