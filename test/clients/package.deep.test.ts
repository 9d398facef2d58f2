import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newFolder, read, root, sourcesIn } from '../kit.ts'

const run = promisify(execFile)
const client = 'clients/typescript'
const bin = (name: string) => join(root, 'node_modules/.bin', name)

const folder = await newFolder('docket-package-')
const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
  cwd: join(root, client),
})
const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as {
  filename: string
  files: { path: string }[]
}[]
const archive = join(folder, packed!.filename)

test('npm pack builds a package that contains only JavaScript, types, README and LICENSE', () => {
  const built = sourcesIn(`${client}/src`).flatMap(({ path }) => {
    const name = path.replace(`${client}/src`, 'dist').replace(/\.ts$/, '')
    return [`${name}.js`, `${name}.d.ts`]
  })
  const paths = packed!.files.map(({ path }) => path)
  expect(paths.sort()).toEqual([...built, 'LICENSE', 'README.md', 'package.json'].sort())
  const { dependencies } = JSON.parse(read(`${client}/package.json`).text)
  expect(dependencies).toBeUndefined()
})

test('publint and attw find no errors in the package', async () => {
  expect((await run(bin('publint'), ['run', archive, '--strict'])).stdout).toContain('All good')
  // Rejects unless all entries resolve to types of ES modules.
  await run(bin('attw'), [archive, '--profile', 'esm-only'], { cwd: folder })
})

test('an installed package runs in Node, and TypeScript finds its types with both module resolutions', async () => {
  await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  await run('npm', ['install', '--offline', '--no-audit', archive], { cwd: folder })
  const codeWith = (filters: string) =>
    `import { Docket } from 'docket-client'
    const docket = new Docket({ url: 'http://localhost:3000' })
    export const read = () => docket.tasks.list(${filters})`
  await writeFile(join(folder, 'right.ts'), codeWith("{ status: 'TODO' }"))
  await writeFile(join(folder, 'wrong.ts'), codeWith("{ staus: 'TODO' }"))
  const compile = (module: string, resolution: string, file: string) => {
    const options = `--strict --target es2022 --module ${module} --moduleResolution ${resolution}`.split(' ')
    return run('node', [join(root, 'node_modules/typescript/bin/tsc'), ...options, file], { cwd: folder })
  }
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    await compile(module, resolution, 'right.ts')
    const failed = compile(module, resolution, 'wrong.ts')
    await expect(failed).rejects.toMatchObject({ stdout: expect.stringContaining("'staus' does not exist") })
  }
  await run('node', ['right.js'], { cwd: folder })
})
