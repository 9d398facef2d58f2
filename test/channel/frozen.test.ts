import { afterEach, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openPeers, type Peers } from '../../src/channel/peers.ts'
import { Lost, type Peer } from '../../src/channel/protocol.ts'
import { echo, failureOf, limits, listeningLog, openPair, reply, soon, until } from './pair.ts'

interface Line {
  port?: number
  payload?: string
  leftMs?: number
  answered?: number
  isUsable?: boolean
  lost?: string
}
interface Process {
  child: ChildProcess
  lines: Line[]
}

const opened: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

function start(...args: string[]): Process {
  const script = join(import.meta.dirname, 'process.ts')
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  opened.push(() => void child.kill('SIGKILL'))
  const lines: Line[] = []
  createInterface({ input: child.stdout! }).on('line', (line) => lines.push(JSON.parse(line)))
  return { child, lines }
}

/** A home in a process of its own, that has answered once, and who asks it. */
async function startHome(): Promise<Process & { peers: Peers; peer: Peer; served(): Line[] }> {
  const home = start('home')
  await until(() => home.lines.length > 0)
  const peers = openPeers(limits, listeningLog())
  opened.push(() => peers.close())
  const peer = { id: 'home-1', host: '127.0.0.1', port: home.lines[0]!.port! }
  expect(await peers.ask(peer, 'first', soon())).toEqual(reply('"first"'))
  return { ...home, peers, peer, served: () => home.lines.filter(({ payload }) => payload !== undefined) }
}

test('what lay in the buffer of a frozen home comes with its real age, and not when its time is over', async () => {
  const { child, peers, peer, served } = await startHome()
  child.kill('SIGSTOP')
  const short = peers.ask(peer, 'short', performance.now() + 700).catch((error: Error) => error)
  const long = peers.ask(peer, 'long', performance.now() + 30_000)
  await Bun.sleep(1_000)
  child.kill('SIGCONT')
  expect(await long).toEqual(reply('"long"'))
  await short
  await peers.ask(peer, 'last', soon())
  await until(() => served().some(({ payload }) => payload === 'last'))
  expect(served().map(({ payload }) => payload)).toEqual(['first', 'long', 'last'])
  expect(served()[1]!.leftMs).toBeLessThanOrEqual(29_000)
  expect(served()[1]!.leftMs).toBeGreaterThan(20_000)
})

test('a frozen home is given up before its time is over, serves nothing late when it wakes, and is found again', async () => {
  const { child, peers, peer, served } = await startHome()
  child.kill('SIGSTOP')
  const deadline = performance.now() + 4_000
  const lost = (await failureOf(peers.ask(peer, 'short', deadline))) as Lost
  expect([lost instanceof Lost, lost.sent, lost.message]).toEqual([true, true, 'went silent'])
  expect(peers.isUsable('home-1')).toBe(false)
  await until(() => performance.now() > deadline)
  expect(peers.isUsable('home-1')).toBe(false)
  child.kill('SIGCONT')
  await until(() => peers.isUsable('home-1'))
  expect(await peers.ask(peer, 'last', soon())).toEqual(reply('"last"'))
  await until(() => served().some(({ payload }) => payload === 'last'))
  expect(served().map(({ payload }) => payload)).toEqual(['first', 'last'])
})

test('who was frozen itself does not blame the others', async () => {
  const pair = await openPair((asks) => void setTimeout(() => echo(asks), 50))
  opened.push(() => pair.close())
  const { child, lines } = start('asker', String(pair.peer.port))
  const answered = () => lines.findLast((line) => line.answered !== undefined)?.answered ?? 0
  await until(() => answered() > 100)
  child.kill('SIGSTOP')
  const before = answered()
  await Bun.sleep(3_000) // a frozen home would be given up after two
  child.kill('SIGCONT')
  await until(() => answered() > before + 100)
  expect(lines.filter(({ lost }) => lost)).toEqual([])
  expect(lines.filter(({ isUsable }) => isUsable === false)).toEqual([])
})
