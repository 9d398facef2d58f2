import { expect, test } from 'bun:test'
import { runFaults } from './command.ts'

// Far more than it takes: what is written twice is judged at the end.
const timeoutMs = 300_000

test(
  'without the comparison of versions violations are found',
  async () => {
    const { code, output } = await runFaults('--without-comparison', '--short')
    expect(output).toContain('violations found, as expected')
    expect(code).toBe(0)
  },
  timeoutMs,
)
