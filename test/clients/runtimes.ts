import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../kit.ts'
import { newFolderWithClient } from './built.ts'

const run = promisify(execFile)
const folder = await newFolderWithClient()

// Deno uses the files of the folder, and downloads nothing.
const denoFlags = '--node-modules-dir=manual --no-lock --cached-only --no-config --allow-net --allow-read'
const commands = {
  Node: ['node'],
  Bun: [process.execPath],
  Deno: [process.execPath, join(root, 'node_modules/deno/bin.cjs'), 'run', ...denoFlags.split(' ')],
}
export type Runtime = keyof typeof commands
export const runtimes = Object.keys(commands) as Runtime[]

/** Runs a JavaScript module that may import `docket-client`, and returns its output. @throws if it fails */
export async function runIn(runtime: Runtime, program: string): Promise<string> {
  const file = join(folder, `${runtime}.mjs`)
  await writeFile(file, program)
  const [command, ...args] = commands[runtime] as [string, ...string[]]
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
  return (await run(command, [...args, file], { cwd: folder, env, timeout: 60_000 })).stdout
}
