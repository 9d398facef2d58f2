import { spawnSync } from 'node:child_process'
import { spawnSupervised } from '../processes/supervised-service.ts'
import { eventually, freshEnv, openForEach } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { scrape } from './scrape.ts'
import { alerts, targets } from './watched.ts'

const forEach = openForEach()

function promtool(words: string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', words, { input, encoding: 'utf8' })
  if (error) throw new Error('promtool is missing: npm run test:all installs it', { cause: error })
  return { status, output: stdout + stderr }
}

const start = (process: string) => `docket_process_start_time_seconds{process="${process}"}`

test('one address reports the metrics of all processes, labelled by process, also after a process was replaced', async () => {
  const { env } = await forEach(freshEnv())
  const { port, started: several } = await startOnOwnPort((own) =>
    forEach(spawnSupervised('start', { ...env, METRICS_PORT: String(own) })),
  )
  let before = await scrape(port)
  // A response lacks the metrics of a process that is busy for longer than the parent waits.
  await eventually('the start times of all processes', async () => {
    before = await scrape(port)
    return ['parent', 'web-1', 'web-2', 'worker-1'].every((process) => before.of(start(process))! > 1e9)
  })
  // The first response lacks metrics that need a slow query.
  await eventually('the jobs', async () => {
    const parked = (await scrape(port)).of('docket_parked_jobs{process="worker-1"}')
    return parked === 0
  })
  expect(before.of('docket_outbox_jobs{process="web-1"}')).toBe(undefined)
  expect(promtool(['check', 'metrics'], before.text)).toEqual({ status: 0, output: '' })
  process.kill(several.pids().web[1]!, 'SIGKILL')
  await eventually('the replaced process', async () => {
    const began = (await scrape(port)).of(start('web-2'))
    return began !== undefined && began > before.of(start('web-2'))!
  })
})

test('Prometheus accepts the alerts', () => {
  const { status, output } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', alerts])
  expect([status, output]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
})

test('Prometheus accepts each query of the dashboard', () => {
  const rules = targets.map(({ expr }, n) => {
    const query = expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'docket')
    return `      - record: docket:query${n}\n        expr: ${JSON.stringify(query)}\n`
  })
  const { status, output } = promtool(
    ['check', 'rules', '/dev/stdin'],
    `groups:\n  - name: dashboard\n    rules:\n${rules.join('')}`,
  )
  expect([status, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${targets.length} rules found`)])
})
