import { expect, test } from 'bun:test'
import { runFaults } from './run-faults.ts'

test('under one fault of each kind, no write is lost, duplicated or reordered, and every response is correct', async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  console.log(`fault run with seed ${seed}`)
  const { code, output } = await runFaults('--short', '--seed', String(seed))
  expect(output).toContain('\n0 violations')
  expect(code).toBe(0)
})
