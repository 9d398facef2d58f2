import { setDefaultTimeout } from 'bun:test'
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { openBrowser } from '../browser/browser.ts'
import { execute, installPackage } from '../cli/process.ts'
import { blocksOf, difference } from '../docs/page.ts'
import { forFile, listen, make, newFolder, openTcpProxyTo, openWebProcess, read, root } from '../kit.ts'
import { sourcesIn } from '../kit.ts'

setDefaultTimeout(300_000)

const client = 'clients/typescript'
const bin = (name: string) => join(root, 'node_modules', name)
const server = createServer()
const pages = await forFile(listen(server))
const { web, ada } = await forFile(openWebProcess({ CORS_ORIGINS: pages.url }))
const folder = await newFolder('docket-package-')
const archive = await installPackage(client, folder)
const installed = join(folder, 'node_modules/docket-client')
await symlink(bin('@tanstack'), join(folder, 'node_modules/@tanstack'))

test('npm pack builds a package that contains only JavaScript, types, README and LICENSE', async () => {
  const built = sourcesIn(`${client}/src`).flatMap(({ path }) => {
    const name = path.replace(`${client}/src`, 'dist').replace(/\.ts$/, '')
    return [`${name}.js`, `${name}.d.ts`]
  })
  const entries = await readdir(installed, { recursive: true, withFileTypes: true })
  const files = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const expected = [...built, 'LICENSE', 'README.md', 'package.json'].map((name) => join(installed, name))
  expect(files.sort()).toEqual(expected.sort())
  expect(JSON.parse(read(`${client}/package.json`).text).dependencies).toBeUndefined()
  const strict = await execute([bin('.bin/publint'), 'run', archive, '--strict'])
  expect(strict.out).toContain('All good')
  // Fails unless all entries resolve to types of ES modules, also in bundlers.
  const attw = [bin('.bin/attw'), archive, '--profile', 'esm-only']
  expect(await execute(attw, { cwd: folder })).toMatchObject({ code: 0 })
})

const blocks = blocksOf(`${client}/README.md`).filter(({ language }) => language === 'ts')

/** The first lines of each program: they open a client. */
const head = `
  import { Docket } from 'docket-client'
  const docket = new Docket({ url: 'http://localhost:3000', token: async () => 'token' })
  const projectId = ''
  const project = docket.project(projectId)
`

/** Compiles programs with the types of the installed package, and returns the errors of each program. */
async function errorsIn(programs: string[]): Promise<string[][]> {
  const paths = programs.map((_, n) => join(folder, `program-${n}.ts`))
  await Promise.all(paths.map((path, n) => writeFile(path, programs[n]!)))
  const { ES2022: target } = ts.ScriptTarget
  const options = { strict: true, noEmit: true, types: [], target, module: ts.ModuleKind.NodeNext }
  const program = ts.createProgram(paths, { ...options, skipLibCheck: true })
  return paths.map((path) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  )
}

test('correct calls and the examples of the pages compile; a call with a misspelt or mistyped name does not', async () => {
  const example = blocksOf('docs/conventions.md').flatMap((one) => (one.language === 'ts' ? one.text : []))
  const { text } = read('test/clients/calls/right.txt')
  const right = [head + text, blocks.map((one) => one.text).join('\n'), head + example.join('\n')]
  const wrong = read('test/clients/calls/wrong.txt').text.trim().split('\n')
  const errors = await errorsIn([...right, ...wrong.map((call) => `${head}export const call = ${call}\n`)])
  expect(errors.slice(0, right.length)).toEqual(right.map(() => []))
  const counts = errors.slice(right.length).map(({ length }, n) => [wrong[n], length])
  expect(counts).toEqual(wrong.map((call) => [call, 1]))
})

const mark = '--- next block ---'
/** Joins the examples of the README to one program. `name` becomes part of the email that the program registers. */
const programOf = (name: string): string =>
  new Bun.Transpiler({ loader: 'ts' })
    .transformSync(blocks.map(({ text }) => `${text}\nconsole.log('${mark}')\n`).join('\n'))
    .replaceAll('http://localhost:3000', web.url)
    .replaceAll('ada@example.com', `ada-${name.toLowerCase()}@example.com`)

function expectShownOutput(stdout: string): void {
  const printed = stdout.split(mark).slice(0, -1)
  const found = blocks.map(({ line, output = '' }, n) => `${line}: ${difference(printed[n] ?? '', output)}`)
  expect(found).toEqual(blocks.map(({ line }) => `${line}: undefined`))
}

// Deno uses the files of the folder, and downloads nothing.
const denoFlags = '--node-modules-dir=manual --no-lock --cached-only --no-config --allow-net --allow-read'
const deno = [process.execPath, bin('deno/bin.cjs'), 'run', ...denoFlags.split(' ')]
const lostAnswers = 2
let lost = 0
/** Closes the connections of the first creates before the responses. */
const proxy = await forFile(
  openTcpProxyTo(web.url, {
    intercept(chunk, to, { client }) {
      const isAnswer = to === client && chunk.toString('latin1').startsWith('HTTP/1.1 201')
      if (!isAnswer || lost === lostAnswers) return false
      lost += 1
      client.destroy()
      return true
    },
  }),
)

test.each([
  ['Node', ['node']],
  ['Bun', [process.execPath]],
  ['Deno', deno],
])(
  '%s: every example of the README prints the shown output, and a create whose response is lost twice creates one task',
  async (runtime, command) => {
    const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
    const program = join(folder, `${runtime}.mjs`)
    const create = `
      const retrying = new Docket({ url: '${proxy.url}', token: '${ada.token}' })
      console.log((await retrying.tasks.create({ projectId: '${projectId}', title: 'Draw' })).id)`
    await writeFile(program, programOf(runtime) + create)
    lost = 0
    const env = { HOME: process.env.HOME!, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
    const { code, out } = await execute([...command, program], { cwd: folder, env })
    expect([code, lost]).toEqual([0, lostAnswers])
    expectShownOutput(out)
    const { body: tasks } = await ada.get(`/tasks?projectId=${projectId}`)
    expect(tasks.map(({ id }) => id)).toEqual([out.split(mark).at(-1)!.trim()])
  },
)

test('Chromium: every example of the README prints the shown output on a page of another origin', async () => {
  const dist = '/node_modules/docket-client/dist'
  const imports = {
    'docket-client': `${dist}/index.js`,
    'docket-client/tanstack': `${dist}/tanstack.js`,
    '@tanstack/db': '/tanstack-db.js',
  }
  const entry = fileURLToPath(import.meta.resolve('@tanstack/db'))
  const [bundle] = (await Bun.build({ entrypoints: [entry], target: 'browser' })).outputs
  const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`
  const files: Record<string, string> = {
    '/': `<!doctype html><link rel="icon" href="data:,">${map}`,
    '/tanstack-db.js': await bundle!.text(),
    '/program.mjs': programOf('Chromium'),
  }
  server.on('request', async ({ url = '' }, response) => {
    const text = files[url] ?? (await readFile(join(folder, url), 'utf8'))
    response.setHeader('content-type', url === '/' ? 'text/html' : 'text/javascript').end(text)
  })
  const visit = await openBrowser()
  const { page, faults } = await visit(`${pages.url}/`, 800, 600)
  const script = `(async () => {
    const lines = []
    console.log = (...values) => lines.push(values.join(' '))
    await import('/program.mjs')
    return lines.join('\\n')
  })()`
  expectShownOutput((await page.evaluate(script)) as string)
  // The examples cause some errors, which browsers also write to the console.
  expect(faults.filter((fault) => fault.startsWith('exception'))).toEqual([])
})
