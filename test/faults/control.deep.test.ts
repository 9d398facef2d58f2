import { expect, test } from 'bun:test'
import { runFaults } from './command.ts'

test('without the comparison of versions violations are found', async () => {
  const { code, output } = await runFaults('--without-comparison', '--short')
  expect(output).toContain('violations found, as expected')
  expect(code).toBe(0)
})
