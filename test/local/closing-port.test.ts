import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { filterNotAllowed, dropNewConnections } from '../../src/local/closing-port.ts'
import { eventually, upTo } from '../kit.ts'
import { requestForever } from '../processes/strict-client.ts'

const here = () => new Response('here')
let server: Bun.Server<undefined>
let beside: ChildProcess
beforeEach(async () => {
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', reusePort: true, fetch: here })
  const script = `${import.meta.dir}/beside.ts`
  beside = spawn(process.execPath, [script, String(server.port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(beside.stdout!, 'data')
})
afterEach(async () => {
  beside.kill('SIGKILL')
  await server.stop(true)
})

/** Returns false, without a change, if the process lacks the privilege to filter connections. */
function dropsNewConnections(port: number): boolean {
  try {
    dropNewConnections(port)
    return true
  } catch (error) {
    expect(String(error)).toBe(`Error: ${filterNotAllowed}`)
    expect(process.getuid!()).not.toBe(0)
    return false
  }
}

const fetchText = async () =>
  (await fetch(server.url, { keepalive: false, headers: { connection: 'close' } })).text()

test('a closing port leaves new connections to the other process, and keeps open connections', async () => {
  const before = await Promise.all(upTo(64).map(fetchText))
  expect(new Set(before)).toEqual(new Set(['here', 'beside']))
  const request = () => 'GET / HTTP/1.1\r\nHost: docket.test\r\n\r\n'
  const open = upTo(8).map(() => requestForever(server.url.href, request, true))
  await eventually('all connections to be open', () => open.every(({ answered }) => answered > 0))
  if (!dropsNewConnections(server.port!)) {
    await Promise.all(open.map((client) => client.stop()))
    expect(new Set(await Promise.all(upTo(64).map(fetchText)))).toEqual(new Set(['here', 'beside']))
    return
  }
  const after = upTo(64).map(fetchText)
  await Promise.race(after)
  const answered = open.map((client) => client.answered)
  await Bun.sleep(200)
  await Promise.all(open.map((client) => client.stop()))
  await server.stop()
  expect(await Promise.all(after)).toEqual(after.map(() => 'beside'))
  for (const [i, { failures }] of open.entries())
    expect([failures, open[i]!.answered > answered[i]!]).toEqual([[], true])
})
