import { execFile } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openBrowser } from '../browser/browser.ts'
import { blocksOf, difference } from '../docs/page.ts'
import { forFile, listen, make, newFolder, openTcpProxyTo, openWebProcess, read, root } from '../kit.ts'
import { sourcesIn } from '../kit.ts'

const run = promisify(execFile)
const client = 'clients/typescript'
const bin = (name: string) => join(root, 'node_modules', name)
const server = createServer()
const pages = await forFile(listen(server))
const { web, ada } = await forFile(openWebProcess({ CORS_ORIGINS: pages.url }))

const folder = await newFolder('docket-package-')
const pack = ['pack', '--json', '--pack-destination', folder]
const { stdout } = await run('npm', pack, { cwd: join(root, client) })
interface Packed {
  filename: string
  files: { path: string }[]
}
const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as Packed[]
const archive = join(folder, packed!.filename)
await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }')
await run('npm', ['install', '--offline', '--no-audit', archive], { cwd: folder })
await symlink(bin('@tanstack'), join(folder, 'node_modules/@tanstack'))

test('npm pack builds a package that contains only JavaScript, types, README and LICENSE', async () => {
  const built = sourcesIn(`${client}/src`).flatMap(({ path }) => {
    const name = path.replace(`${client}/src`, 'dist').replace(/\.ts$/, '')
    return [`${name}.js`, `${name}.d.ts`]
  })
  const paths = packed!.files.map(({ path }) => path)
  expect(paths.sort()).toEqual([...built, 'LICENSE', 'README.md', 'package.json'].sort())
  expect(JSON.parse(read(`${client}/package.json`).text).dependencies).toBeUndefined()
  expect((await run(bin('.bin/publint'), ['run', archive, '--strict'])).stdout).toContain('All good')
  // Rejects unless all entries resolve to types of ES modules.
  await run(bin('.bin/attw'), [archive, '--profile', 'esm-only'], { cwd: folder })
})

test.each(['nodenext nodenext', 'esnext bundler'])(
  'TypeScript finds the types of the installed package with the module and the resolution %s',
  async (settings) => {
    const [module = '', resolution = ''] = settings.split(' ')
    const options = `--noEmit --strict --target es2022 --module ${module} --moduleResolution ${resolution}`
    const compile = async (filters: string) => {
      const code = `import { Docket } from 'docket-client'
        export const read = (docket: Docket) => docket.tasks.list(${filters})`
      await writeFile(join(folder, 'program.ts'), code)
      await run('node', [bin('typescript/bin/tsc'), ...options.split(' '), 'program.ts'], { cwd: folder })
    }
    await compile("{ status: 'TODO' }")
    const error = { stdout: expect.stringContaining("'staus' does not exist") }
    await expect(compile("{ staus: 'TODO' }")).rejects.toMatchObject(error)
  },
)

const mark = '--- next block ---'
const blocks = blocksOf(`${client}/README.md`).filter(({ language }) => language === 'ts')
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
let lost = lostAnswers
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
  async (runtime, [command = '', ...args]) => {
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
    const outputOf = async (program: string) => {
      const file = join(folder, `${runtime}.mjs`)
      await writeFile(file, program)
      return (await run(command, [...args, file], { cwd: folder, env, timeout: 60_000 })).stdout
    }
    expectShownOutput(await outputOf(programOf(runtime)))
    lost = 0
    const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
    const printed = await outputOf(
      `import { Docket } from 'docket-client'
      const docket = new Docket({ url: '${proxy.url}', token: '${ada.token}' })
      const { id } = await docket.tasks.create({ projectId: '${projectId}', title: 'Draw' })
      console.log(id)`,
    )
    expect(lost).toBe(lostAnswers)
    const { body: tasks } = await ada.get(`/tasks?projectId=${projectId}`)
    expect(tasks.map(({ id }) => id)).toEqual([printed.trim()])
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
