import { type ChildProcess, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { bundle } from '../../clients/cli/scripts/bundle.ts'
import { newFolder, root } from '../kit.ts'

/** Bundles the command line into a new folder, and returns the path of the file. */
export const bundled = async () => bundle(resolve(root, 'clients/cli'), await newFolder())

interface Options {
  env?: Record<string, string>
  cwd?: string
  input?: string
}

/** Starts a program, such as `node docket.js tasks`. When the program ends, the programs that it has started end too. */
export function start([program = '', ...args]: string[], { env, cwd, input = '' }: Options = {}) {
  const { PATH = '' } = process.env
  const child = spawn(program, args, { cwd, env: { PATH, ...env }, stdio: 'pipe', detached: true })
  const close = () => void killGroup(child.pid!)
  child
    .once('exit', close)
    .stdin.on('error', () => {})
    .end(input)
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)]
  const ended = endOf(child).then((end) => ({ ...end, out: out(), err: err() }))
  return { child, out, err, ended, close }
}

export const execute = (line: string[], options?: Options) => start(line, options).ended

/** Packs a package of the project, installs it in an empty folder, and returns the path of the archive. */
export async function installPackage(path: string, folder: string): Promise<string> {
  const env = { HOME: folder, npm_config_update_notifier: 'false', npm_config_cache: join(folder, 'cache') }
  const pack = ['npm', 'pack', '--json', '--pack-destination', folder]
  const { code, out } = await execute(pack, { cwd: join(root, path), env })
  expect(code).toBe(0)
  const [{ filename }] = JSON.parse(out.slice(out.indexOf('[')))
  await Bun.write(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  const install = ['npm', 'install', '--offline', '--no-audit', '--no-fund', filename]
  expect(await execute(install, { cwd: folder, env })).toMatchObject({ code: 0 })
  return join(folder, filename)
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes have ended.
  }
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (piece) => (text += piece))
  return () => text
}

const endOf = (child: ChildProcess) =>
  new Promise<{ code: number | null; signal: string | null }>((done, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => done({ code, signal }))
  })
