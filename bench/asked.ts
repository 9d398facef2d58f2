import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A script of this folder in a process of its own, which costs what is measured nothing but the machine. */
export interface Asked {
  /** What it said first. */
  first: string
  /** Says something, and reads what it answers. */
  ask(what: string): Promise<string>
  stop(): Promise<void>
}

/** Starts a script that says when it is ready, and then answers each line that it reads with one. */
export async function startAsked(script: string, args: string[] = []): Promise<Asked> {
  const child = spawn(process.execPath, ['--no-env-file', join(import.meta.dirname, script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${script} has ended`)
    return value
  }
  return {
    first: await next(),
    ask(what) {
      child.stdin.write(`${what}\n`)
      return next()
    },
    async stop() {
      child.kill()
      await exited
    },
  }
}
