import { expect, setDefaultTimeout, test } from 'bun:test'
import { cases } from '../kit.ts'
import { runFaults } from './run-faults.ts'

// Far more than a run takes, because the faults and the checks are slow on a busy machine.
setDefaultTimeout(300_000)

test('under one fault of each kind, no write is lost, duplicated or reordered, and every response is correct', async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  console.log(`fault run with seed ${seed}`)
  const perSecond = Math.min(cases(100), 300)
  const { code, output } = await runFaults('--short', '--seed', `${seed}`, '--per-second', `${perSecond}`)
  expect(output).toContain('\n0 violations')
  expect(code).toBe(0)
})
