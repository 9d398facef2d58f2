import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface ChildScript {
  first: string
  ask(what: string): Promise<string>
  stop(): Promise<void>
}

/** Starts a script that prints a line when it is ready, and one line for each line that it reads. */
export async function startChildScript(script: string, args: string[] = []): Promise<ChildScript> {
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
