import { expect, setDefaultTimeout, test } from 'bun:test'
import { runFaults } from './run-faults.ts'

// Far more than a run takes, because the checks are slow on a log with duplicate seqs. A busy machine has few faults in 30 s.
setDefaultTimeout(300_000)

test('finds violations when commits do not compare versions', async () => {
  const { code, output } = await runFaults('--without-comparison', '--short', '--seconds', '60')
  expect(output).toContain('violations found, as expected')
  expect(code).toBe(0)
})
