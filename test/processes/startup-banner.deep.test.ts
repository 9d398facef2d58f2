import { eventually, forFile, freshEnv } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { begin, beginOnTerminal } from './launch.ts'

const fresh = await forFile(freshEnv({ LOG_LEVEL: 'info' }))
const env: Record<string, string> = fresh.env

async function linesOf(service: ReturnType<typeof begin>, last: string): Promise<string[]> {
  await Promise.race([eventually(last, () => service.output().includes(last)), service.ended])
  service.signal('SIGTERM')
  const { code, output } = await service.ended
  expect([code, output]).toEqual([0, output])
  return output.split('\n').filter(Boolean)
}

test.each(['1', '2'])('start prints its URLs first, then logs JSON; processes: %s', async (n) => {
  const own = { ...env, HOST: '0.0.0.0', WEB_CONCURRENCY: n }
  const { port, started } = await startOnOwnPort((port) =>
    linesOf(begin('start', { ...own, PORT: String(port) }), '"listening"'),
  )
  const [api, docs, ...others] = started
  expect([api, docs]).toEqual([
    `API         http://localhost:${port}/api/v1`,
    `Swagger UI  http://localhost:${port}/api/docs`,
  ])
  const messages = others.map((line) => JSON.parse(line).msg)
  for (const message of ['database migrations are complete', 'working', 'listening', 'stopping'])
    expect(messages).toContain(message)
})

test('with PORT=0 the startup banner shows the port that the system chose', async () => {
  const [api, docs, ...others] = await linesOf(begin('start', env), '"listening"')
  const listening = others.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'listening')
  expect([api, docs]).toEqual([`API         ${listening.api}`, `Swagger UI  ${listening.docs}`])
  expect(listening.api).not.toContain(':0/')
})

test('web and worker log only JSON', async () => {
  for (const [command, last] of [
    ['web', '"listening"'],
    ['worker', '"working"'],
  ] as const) {
    const lines = await linesOf(begin(command, env), last)
    expect(lines.map((line) => typeof JSON.parse(line).msg)).toEqual(lines.map(() => 'string'))
  }
})

test('on a terminal, log lines are human-readable', async () => {
  const service = beginOnTerminal('start', env)
  await eventually('the log line "listening"', () => service.output().includes('listening'))
  service.type('\x03')
  expect(await service.ended).toBe(0)
  const lines = service
    .output()
    .replace(/\x1b\[\d*m/g, '')
    .split(/\r?\n/)
  expect(lines.slice(0, 2).map((line) => line.replace(/:\d+/, ':…'))).toEqual([
    'API         http://127.0.0.1:…/api/v1',
    'Swagger UI  http://127.0.0.1:…/api/docs',
  ])
  expect(lines[2]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: database migrations are complete$/)
  expect(service.output()).not.toContain('"level"')
})
