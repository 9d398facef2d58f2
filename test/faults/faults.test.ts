import { expect, test } from 'bun:test'
import { runFaults } from './command.ts'

test('under one fault of each kind nothing is lost, doubled, reordered or answered wrongly', async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  console.log(`faults with the seed ${seed}`)
  const { code, output } = await runFaults('--short', '--seed', String(seed))
  expect(output).toContain('\n0 violations')
  expect(code).toBe(0)
})
