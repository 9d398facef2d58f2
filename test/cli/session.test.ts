import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../kit.ts'
import { origin } from '../clients/scene.ts'
import { openCliScene, runDocket, wordsOf } from './scene.ts'

const { ada, send, newProject, docket } = await openCliScene()
const login = `login --url ${origin}/api/v1/ --token`

async function openHome() {
  const HOME = await newFolder()
  const run = (line: string, env: Record<string, string> = {}, input = '') =>
    runDocket(wordsOf(line), { fetch: send, input, env: { HOME, ...env } })
  return { HOME, run, file: join(HOME, '.config/docket/config.json') }
}

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

test('login stores the token in a file that only the user can read, and logout deletes the token', async () => {
  const { run, file } = await openHome()
  await run(`${login} wrong`)
  expect(await stat(file).catch(() => undefined)).toBeUndefined()
  await run(`${login} ${ada.token}`)
  expect([await modeOf(file), await modeOf(join(file, '..'))]).toEqual(['600', '700'])
  await run('logout')
  expect(await readFile(file, 'utf8')).not.toContain(ada.token!)
})

test('login reads the token from standard input, and writes the file in XDG_CONFIG_HOME', async () => {
  const { HOME, run } = await openHome()
  const env = { XDG_CONFIG_HOME: join(HOME, 'xdg') }
  const { out } = await run(`${login} - --json`, env, `${ada.token}\nmore`)
  const user = { id: ada.id, name: 'Ada', email: ada.email }
  expect(JSON.parse(out)).toEqual({ url: origin, user, file: join(HOME, 'xdg/docket/config.json') })
  expect((await run('projects', env)).code).toBe(0)
})

test('use stores the default project; --project and DOCKET_PROJECT take precedence', async () => {
  const { run } = await openHome()
  await run(`${login} ${ada.token}`)
  const [{ id }, other] = [await newProject(), await docket.projects.create({ name: 'Board' })]
  expect((await run('add Draw')).code).toBe(2)
  expect((await run('use engine')).out).toBe('The default project is Engine\n')
  for (const [line, DOCKET_PROJECT, used] of [
    ['add Draw --json', '', id],
    ['add Draw --json', 'Board', other.id],
    [`add Draw --json --project ${id}`, 'Board', id],
  ] as const)
    expect(JSON.parse((await run(line, { DOCKET_PROJECT })).out).projectId).toBe(used)
  expect((await run('projects')).out).toMatch(/^DEFAULT {2}NAME .*\n\* +Engine /)
})

test.each(['{"url":', 'null', '[]', '{"url":5}'])(
  'a stored file with the content %s is an error that names the file',
  async (content) => {
    const { run, file } = await openHome()
    await run(`${login} ${ada.token}`)
    await writeFile(file, content)
    const err = `docket: ${file} is not a file of docket: delete it, then run docket login\n`
    expect(await run('projects')).toMatchObject({ code: 1, err })
  },
)
