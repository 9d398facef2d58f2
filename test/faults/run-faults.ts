import { spawn } from 'node:child_process'
import { join } from 'node:path'

const main = join(import.meta.dirname, 'main.ts')

export async function runFaults(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (code !== 0) console.log(output)
  return { code, output }
}
