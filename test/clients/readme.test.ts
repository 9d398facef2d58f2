import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'bun:test'
import { root } from '../architecture/source.ts'
import { blocksOf, difference } from '../docs/page.ts'
import { forFile } from '../support/service.ts'
import { openWebProcess } from '../support/web-process.ts'
import { javaScriptOf, newFolderWithClient } from './built.ts'

const run = promisify(execFile)
const mark = '--- next block ---'
const readme = 'clients/typescript/README.md'
const blocks = blocksOf(readme).filter(({ language }) => language === 'ts')

const { web } = await forFile(openWebProcess())
const folder = await newFolderWithClient()

// Deno uses the files of the folder, and downloads nothing.
const denoFlags = [
  '--node-modules-dir=manual',
  '--no-lock',
  '--cached-only',
  '--no-config',
  '--allow-net',
  '--allow-read',
]
const runtimes: [name: string, command: string, args: string[]][] = [
  ['Node', 'node', []],
  ['Bun', process.execPath, []],
  ['Deno', process.execPath, [join(root, 'node_modules/deno/bin.cjs'), 'run', ...denoFlags]],
]

/** Joins the examples to one program that signs up a user of its own. */
const programOf = (runtime: string) =>
  javaScriptOf(blocks.map(({ text }) => `${text}\nconsole.log('${mark}')\n`).join('\n'))
    .replaceAll('http://localhost:3000', web.url)
    .replaceAll('ada@example.com', `ada-${runtime}@example.com`)

test.each(runtimes)(
  '%s: every example of the README prints the output that the page shows',
  async (name, command, args) => {
    const file = join(folder, `${name}.mjs`)
    await writeFile(file, programOf(name))
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
    const { stdout } = await run(command, [...args, file], { cwd: folder, env, timeout: 60_000 })
    const printed = stdout.split(`${mark}\n`).slice(0, -1)
    const wrong = blocks.map(({ line, output = '' }, n) => `${line}: ${difference(printed[n] ?? '', output)}`)
    expect(wrong).toEqual(blocks.map(({ line }) => `${line}: undefined`))
  },
)
