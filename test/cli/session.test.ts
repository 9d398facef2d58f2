import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../kit.ts'
import { origin } from '../clients/scene.ts'
import { openCliScene, runDocket } from './scene.ts'

const { ada, send, json } = await openCliScene()
const token = ada.token!

async function openHome() {
  const HOME = await newFolder()
  const run = (line: string[], given: { env?: Record<string, string>; input?: string } = {}) =>
    runDocket(line, { fetch: send, ...given, env: { HOME, ...given.env } })
  return { HOME, run, file: join(HOME, '.config/docket/config.json') }
}

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

test('login checks the token, and stores the token in a file that only the user can read', async () => {
  const { run, file } = await openHome()
  expect((await run(['projects'])).code).toBe(4)
  const wrong = await run(['login', '--url', origin, '--token', 'wrong'])
  expect([wrong.code, wrong.out]).toEqual([4, ''])
  expect(await stat(file).catch(() => undefined)).toBeUndefined()

  const { code, out } = await run(['login', '--url', `${origin}/api/v1/`, '--token', token])
  expect([code, out]).toEqual([0, `Signed in to ${origin} as Ada (${ada.email}); stored in ${file}\n`])
  expect([await modeOf(file), await modeOf(join(file, '..'))]).toEqual(['600', '700'])
  expect((await run(['projects'])).code).toBe(0)
  expect((await run(['logout'])).out).toBe(`Signed out of ${origin}\n`)
  expect(await readFile(file, 'utf8')).not.toContain(token)
  expect(await run(['projects'])).toEqual({
    code: 4,
    out: '',
    err: 'docket: Not signed in: run docket login, or set DOCKET_URL\n',
  })
})

test('login reads the token from standard input, and writes the file in XDG_CONFIG_HOME', async () => {
  const { HOME, run } = await openHome()
  const env = { XDG_CONFIG_HOME: join(HOME, 'xdg') }
  const line = ['login', '--url', origin, '--token', '-', '--json']
  const { out } = await run(line, { input: `${token}\nmore`, env })
  expect(JSON.parse(out)).toEqual({
    url: origin,
    user: { id: ada.id, name: 'Ada', email: ada.email },
    file: join(HOME, 'xdg/docket/config.json'),
  })
  expect((await run(['projects'], { env })).code).toBe(0)
})

test('DOCKET_URL and DOCKET_TOKEN replace the values of the file, and a stored token is sent only to the stored address', async () => {
  const { run } = await openHome()
  await run(['login', '--url', origin, '--token', token])
  expect((await run(['projects'], { env: { DOCKET_TOKEN: 'wrong' } })).code).toBe(4)
  const elsewhere = await run(['projects'], { env: { DOCKET_URL: 'http://elsewhere.example' } })
  expect([elsewhere.code, elsewhere.err]).toEqual([
    4,
    'docket: Not signed in: run docket login, or set DOCKET_TOKEN\n',
  ])
})

test('use stores the default project; --project and DOCKET_PROJECT take precedence', async () => {
  const { run } = await openHome()
  await run(['login', '--url', origin, '--token', token])
  const { id } = await json(['projects', '--create', 'Engine'])
  const other = await json(['projects', '--create', 'Board'])
  expect((await run(['add', 'Draw'])).code).toBe(2)
  expect((await run(['use', 'engine'])).out).toBe('The default project is Engine\n')
  const projectOf = async (line: string[], env = {}) =>
    JSON.parse((await run(['add', 'Draw', '--json', ...line], { env })).out).projectId
  expect(await projectOf([])).toBe(id)
  expect(await projectOf([], { DOCKET_PROJECT: 'Board' })).toBe(other.id)
  expect(await projectOf(['--project', id], { DOCKET_PROJECT: 'Board' })).toBe(id)
  expect((await run(['projects'])).out).toMatch(/^DEFAULT {2}NAME .*\n\* +Engine /)
})

test('a stored file with another content is an error that names the file', async () => {
  const { run, file } = await openHome()
  await run(['login', '--url', origin, '--token', token])
  for (const content of ['{"url":', 'null', '[]', '{"url":5}']) {
    await writeFile(file, content)
    const { code, err } = await run(['projects'])
    expect([code, err]).toEqual([
      1,
      `docket: ${file} is not a file of docket: delete it, then run docket login\n`,
    ])
  }
})
