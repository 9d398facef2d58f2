import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'bun:test'
import { root } from '../architecture/source.ts'
import { forFile } from '../support/service.ts'
import { openWebProcess } from '../support/web-process.ts'
import { newFolderWithClient } from './built.ts'
import { expectShownOutput, programOf } from './readme-program.ts'

const run = promisify(execFile)
const { web } = await forFile(openWebProcess())
const folder = await newFolderWithClient()

// Deno uses the files of the folder, and downloads nothing.
const denoFlags = '--node-modules-dir=manual --no-lock --cached-only --no-config --allow-net --allow-read'
const deno = [join(root, 'node_modules/deno/bin.cjs'), 'run', ...denoFlags.split(' ')]
const runtimes: [name: string, command: string, args: string[]][] = [
  ['Node', 'node', []],
  ['Bun', process.execPath, []],
  ['Deno', process.execPath, deno],
]

test.each(runtimes)(
  '%s: every example of the README prints the shown output',
  async (name, command, args) => {
    const file = join(folder, `${name}.mjs`)
    await writeFile(file, programOf(web.url, name))
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
    const { stdout } = await run(command, [...args, file], { cwd: folder, env, timeout: 60_000 })
    expectShownOutput(stdout)
  },
)
