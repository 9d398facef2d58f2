import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import { echo, limits, memoryLog, openPair, reply, inTenSeconds, until, lossOf } from './pair.ts'
import { openForEach } from '../kit.ts'

interface PrintedLine {
  port?: number
  payload?: string
  leftMs?: number
  answered?: number
  isUsable?: boolean
  lost?: string
}
const forEach = openForEach()

function start(...args: string[]) {
  const script = join(import.meta.dirname, 'process.ts')
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  void forEach({ close: () => void child.kill('SIGKILL') })
  const lines: PrintedLine[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)))
  return { child, lines }
}

async function startHome() {
  const home = start('home')
  await until(() => home.lines.length > 0)
  const client = await forEach(new RpcClient(limits, memoryLog()))
  const peer = { id: 'home-1', host: '127.0.0.1', port: home.lines[0]!.port! }
  expect(await client.call(peer, 'first', inTenSeconds())).toEqual(reply('"first"'))
  return { ...home, client, peer, served: () => home.lines.filter(({ payload }) => payload !== undefined) }
}

test('a resumed server serves no request whose deadline passed while the server was frozen', async () => {
  const { child, client, peer, served } = await startHome()
  child.kill('SIGSTOP')
  const short = client.call(peer, 'short', performance.now() + 100).catch((error: Error) => error)
  const long = client.call(peer, 'long', performance.now() + 30_000)
  await Bun.sleep(300)
  child.kill('SIGCONT')
  expect(await long).toEqual(reply('"long"'))
  await short
  await client.call(peer, 'last', inTenSeconds())
  await until(() => served().some(({ payload }) => payload === 'last'))
  expect(served().map(({ payload }) => payload)).toEqual(['first', 'long', 'last'])
  expect(served()[1]!.leftMs).toBeLessThanOrEqual(29_700)
  expect(served()[1]!.leftMs).toBeGreaterThan(20_000)
})

test('a client disconnects from a frozen server before the deadline, and uses the server again when it resumes', async () => {
  const { child, client, peer, served } = await startHome()
  child.kill('SIGSTOP')
  const deadline = performance.now() + 4_000
  expect(await lossOf(client.call(peer, 'short', deadline))).toMatchObject({
    sent: true,
    message: 'no heartbeat in time',
  })
  expect(client.isUsable('home-1')).toBe(false)
  await until(() => performance.now() > deadline)
  expect(client.isUsable('home-1')).toBe(false)
  child.kill('SIGCONT')
  await until(() => client.isUsable('home-1'))
  expect(await client.call(peer, 'last', inTenSeconds())).toEqual(reply('"last"'))
  await until(() => served().some(({ payload }) => payload === 'last'))
  expect(served().map(({ payload }) => payload)).toEqual(['first', 'last'])
})

test('a client that was frozen keeps its connections', async () => {
  const pair = await forEach(openPair((requests) => void setTimeout(() => echo(requests), 50)))
  const { child, lines } = start('client', String(pair.peer.port))
  const answered = () => lines.findLast((line) => line.answered !== undefined)?.answered ?? 0
  await until(() => answered() > 100)
  child.kill('SIGSTOP')
  const before = answered()
  await Bun.sleep(3_000)
  child.kill('SIGCONT')
  await until(() => answered() > before + 100)
  expect(lines.filter(({ lost }) => lost)).toEqual([])
  expect(lines.filter(({ isUsable }) => isUsable === false)).toEqual([])
})
