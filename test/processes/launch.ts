import { spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { freshDatabase, mainFile, runtimeOptions } from '../kit.ts'

export function begin(command: string, env: Record<string, string>, ...words: string[]) {
  const child = spawn(process.execPath, [...runtimeOptions, mainFile, command, ...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk))
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
  return { output: () => output, signal: (name: NodeJS.Signals) => void child.kill(name), ended }
}

/** Starts a command on a terminal of its own. */
export function beginOnTerminal(command: string, env: Record<string, string>) {
  const line = ['exec', process.execPath, ...runtimeOptions, mainFile, command].join(' ')
  const terminal = spawn('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], {
    env: { PATH: process.env.PATH, TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  terminal.stdout.on('data', (chunk: Buffer) => (output += chunk))
  const ended = new Promise<number | null>((resolve) => terminal.once('close', resolve))
  const type = (keys: string) => void terminal.stdin.write(keys)
  return { output: () => output, type, close: () => void terminal.kill('SIGKILL'), ended }
}

export const run = (command: string, env: Record<string, string>, ...words: string[]) =>
  begin(command, env, ...words).ended

/** Creates a database that is not migrated. */
export const emptyDatabase = () => freshDatabase('template0')

export async function idleConnection(url: string): Promise<Socket> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`GET /health/live HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  return socket
}

export const readiness = async (url: string) => {
  const response = await fetch(`${url}/health/ready`)
  return {
    status: response.status,
    body: (await response.json()) as { status: string; postgres: string; redis: string },
  }
}
