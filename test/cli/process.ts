import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { bundle } from '../../clients/cli/scripts/bundle.ts'
import { newFolder, root } from '../kit.ts'

/** Bundles the command line into a new folder, and returns the path of the file. */
export const bundled = async () => bundle(resolve(root, 'clients/cli'), await newFolder())

interface Options {
  env?: Record<string, string>
  cwd?: string
  input?: string
}

/** Starts a program, such as `node docket.js tasks`. */
export function start([program = '', ...args]: string[], { env, cwd, input = '' }: Options = {}) {
  const { PATH = '' } = process.env
  const child = spawn(program, args, { cwd, env: { PATH, ...env }, stdio: 'pipe' })
  child.stdin.on('error', () => {}).end(input)
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)]
  const ended = endOf(child).then((end) => ({ ...end, out: out(), err: err() }))
  return { child, out, err, ended, close: () => void child.kill('SIGKILL') }
}

export const execute = (line: string[], options?: Options) => start(line, options).ended

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
