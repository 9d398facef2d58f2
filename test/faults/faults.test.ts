import { expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const timeoutMs = 90_000
const main = join(import.meta.dirname, 'main.ts')

/** The command in its short form, in a process of its own, as anybody would run it. */
async function faults(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}

test(
  'under one fault of each kind nothing is lost, doubled, reordered or answered wrongly',
  async () => {
    const seed = Math.floor(Math.random() * 1_000_000)
    console.log(`faults with the seed ${seed}`)
    const { code, output } = await faults('--short', '--seed', String(seed))
    if (code !== 0) console.log(output)
    expect(output).toContain('\n0 violations')
    expect(code).toBe(0)
  },
  timeoutMs,
)

test(
  'without the comparison of versions violations are found',
  async () => {
    const { code, output } = await faults('--without-comparison', '--short')
    if (code !== 0) console.log(output)
    expect(output).toContain('violations found, as expected')
    expect(code).toBe(0)
  },
  timeoutMs,
)
