import { spawn } from 'node:child_process'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { cases } from '../kit.ts'

// Far more than a run takes, because the faults and the checks are slow on a busy machine.
setDefaultTimeout(600_000)

test('under each fault, no write is lost, duplicated or reordered, and every response is correct', async () => {
  const perSecond = Math.min(cases(100), 300)
  const words = ['--short', '--per-second', `${perSecond}`]
  const child = spawn(process.execPath, [`${import.meta.dirname}/main.ts`, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) console.log(output)
  expect(output).toContain('\n0 violations')
  expect(code).toBe(0)
})
