import { expect, test } from 'bun:test'
import { promtool } from './promtool.ts'
import { alerts, targets } from './watched.ts'

test('Prometheus accepts the alerts', () => {
  const { status, output } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', alerts])
  expect([status, output]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
})

test('Prometheus accepts each query of the dashboard', () => {
  const rules = targets.map(({ expr }, n) => {
    const known = expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'docket')
    return `      - record: docket:query${n}\n        expr: ${JSON.stringify(known)}\n`
  })
  const { status, output } = promtool(
    ['check', 'rules', '/dev/stdin'],
    `groups:\n  - name: dashboard\n    rules:\n${rules.join('')}`,
  )
  expect([status, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${targets.length} rules found`)])
})
