import fc from 'fast-check'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openForEach } from '../kit.ts'
import { type FaultyConnection, openFaultyConnection } from './faulty-connection.ts'
import { echo, echoInto, foreverMs, inTenSeconds, limits, lossOf, memoryLog, openPair } from './rpc-pair.ts'
import { reply, until } from './rpc-pair.ts'
import type { Pair } from './rpc-pair.ts'
import type { RpcRequest, RpcResponse } from '../../src/routing/rpc.ts'
import { ClockOffset, RpcClient } from '../../src/routing/rpc-client.ts'

const forEach = openForEach()
let served: unknown[]
let direct: Pair
let line: FaultyConnection
const home = () => ({ ...direct.peer, port: line.port })
let other: Pair

const callHome = (payload: unknown) => direct.client.call(home(), payload, inTenSeconds())
const callOther = () => direct.client.call({ ...other.peer, id: 'home-2' }, 'other', inTenSeconds())

describe('broken connections.deep', () => {
  beforeEach(async () => {
    served = []
    direct = await forEach(openPair(echoInto(served)))
    other = await forEach(openPair(echo, { id: 'home-2' }))
    line = await forEach(openFaultyConnection(direct.peer.port))
  })

  for (const direction of ['requests', 'responses'] as const)
    test(`fails only the calls of a connection that breaks while sending ${direction}, then reconnects`, async () => {
      const { client } = direct
      expect(await callHome('first')).toEqual(reply('"first"'))
      await callOther()
      const cut = line.cutAfter(40, direction)
      const lost = ['a', 'b', 'c'].map((letter) => lossOf(callHome(letter.repeat(50))))
      const unaffected = callOther()
      for (const { sent } of await Promise.all(lost)) expect(sent).toBe(true)
      expect(client.isUsable('home-1')).toBe(false)
      expect(await lossOf(callHome('too early'))).toMatchObject({ sent: false })
      await cut
      expect(await unaffected).toEqual(reply('"other"'))
      expect(client.isUsable('home-2')).toBe(true)
      expect(served).toHaveLength(direction === 'requests' ? 1 : 4)

      await until(() => client.isUsable('home-1'))
      expect(await callHome('again')).toEqual(reply('"again"'))
      expect(served.at(-1)).toBe('again')
    })

  test('reads messages that arrive a few bytes at a time', async () => {
    line.splitInto(7)
    const texts = ['é🦊', 'x'.repeat(500), '']
    const responses = await Promise.all(texts.map((text) => callHome(text)))
    expect(responses).toEqual(texts.map((text) => reply(JSON.stringify(text))))
  })

  test('marks calls as unsent if no process listens, or the server does not answer the handshake', async () => {
    line.close()
    const { client } = direct
    expect(await lossOf(callHome(1))).toMatchObject({ sent: false })

    line = await forEach(openFaultyConnection(direct.peer.port))
    line.hold('requests')
    const silent = { ...home(), id: 'silent' }
    const lost = await lossOf(client.call(silent, 1, inTenSeconds()))
    expect(lost.sent).toBe(false)
    // Both sides have the same time-out for a handshake, so either side may be the first to close the connection.
    expect(['no handshake in time', 'the connection was closed']).toContain(lost.message)
    expect(served).toEqual([])
  })

  test('closes a silent connection before the deadline of its calls', async () => {
    const { client } = direct
    await callHome(1)
    line.hold('responses')
    expect(await lossOf(callHome(2))).toMatchObject({ sent: true, message: 'no heartbeat in time' })
    expect(client.isUsable('home-1')).toBe(false)
  })

  test('waits for a late response of a process that answers heartbeats', async () => {
    await using slow = await openPair((requests) => void setTimeout(() => echo(requests), 3_000))

    expect(await slow.call(1)).toEqual(reply('1'))
  })

  test('a client that closes rejects pending calls, and sends no new calls', async () => {
    let received = 0
    await using silent = await openPair((requests) => void (received += requests.length))
    const lost = lossOf(silent.call(1))
    await until(() => received === 1)
    await silent.client.close()
    expect((await lost).sent).toBe(true)
    expect([silent.client.isUsable('home-1'), silent.client.isUsable('home-2')]).toEqual([false, false])
    expect(await lossOf(silent.call(1))).toMatchObject({ sent: false })
  })
})

let received: RpcRequest[]
let pair: Pair
const throughLine = () => ({ ...pair.peer, port: line.port })

const tooLate: RpcResponse = {
  kind: 'refusal',
  status: 503,
  message: 'The write timed out. Nothing was written',
  headers: { 'retry-after': '1' },
  details: {},
}

describe('deadlines.deep', () => {
  beforeEach(async () => {
    received = []
    const opening = openPair((requests) => {
      received.push(...requests)
      echo(requests)
    })
    pair = await forEach(opening)
    line = await forEach(openFaultyConnection(pair.peer.port))
  })

  test('rejects a request that arrives after its deadline, and serves requests that arrive before their deadline', async () => {
    const { client } = pair
    await client.call(throughLine(), 'first', inTenSeconds())
    const held = line.hold('requests')
    const deadline = performance.now() + 200
    const long = inTenSeconds()
    const responses = [
      client.call(throughLine(), 'short', deadline),
      client.call(throughLine(), 'long', long),
    ]
    await until(() => performance.now() > deadline)
    held.release()
    expect(await Promise.all(responses)).toEqual([tooLate, reply('"long"')])
    expect(received.map(({ payload }) => payload)).toEqual(['first', 'long'])
    expect(received[1]!.deadline).toBeLessThanOrEqual(long)
    expect(received[1]!.deadline).toBeGreaterThan(long - 9_000)
  })

  test('a slow handshake never extends a deadline, and the next response corrects the clock offset', async () => {
    // Delays the welcome message, which contains the clock.
    const held = line.hold('responses', 38)
    const deadline = inTenSeconds()
    const first = pair.client.call(throughLine(), 1, deadline)
    await Bun.sleep(1_000)
    held.release()
    await first
    expect(received[0]!.deadline).toBeLessThan(deadline - 500)
    const next = inTenSeconds()
    await pair.client.call(throughLine(), 2, next)
    expect(received[1]!.deadline).toBeLessThanOrEqual(next)
    expect(received[1]!.deadline).toBeGreaterThan(next - 500)
  })

  test('rejects a call without a response half a second after its deadline', async () => {
    await using silent = await openPair(() => {})
    const began = performance.now()
    const error = await silent.call(1, began + 300).catch((reason: Error) => reason)
    expect(error).toMatchObject({ sent: true, message: 'no answer in time' })
    expect(performance.now() - began).toBeGreaterThan(800)
  })

  test('never overestimates the clock of another process, whatever the latency', () => {
    const messages = fc.array(
      fc.record({ afterMs: fc.nat(20_000), transitMs: fc.oneof(fc.nat(2), fc.nat(2_000)) }),
      { minLength: 1 },
    )
    // Clocks that NTP corrects drift by at most 0.1 %.
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: -1_000, max: 1_000 }),
        messages,
        (ahead, partsPerMillion, received) => {
          const theirs = (now: number) => ahead + now * (1 + partsPerMillion / 1_000_000)
          const clock = new ClockOffset()
          let now = 0
          for (const { afterMs, transitMs } of received) {
            const sent = now + afterMs
            now = sent + transitMs
            clock.update(theirs(sent), now)
            for (const later of [0, 1, 5_000]) {
              const estimate = now + later + clock.at(now + later)
              expect(estimate).toBeLessThanOrEqual(theirs(now + later) + 0.001)
            }
          }
        },
      ),
    )
  })
})

describe('leaving.deep', () => {
  afterEach(() => pair.close())

  test('a leaving server serves requests in transit, and clients send no new requests', async () => {
    const received: RpcRequest[] = []
    pair = await openPair((requests) => void received.push(...requests))
    const { client, server } = pair
    const first = [1, 2].map((i) => pair.call(i))
    await until(() => received.length === 2)
    expect(client.isUsable('home-1')).toBe(true)
    let hasLeft = false
    const left = server.leave(foreverMs).then(() => (hasLeft = true))
    const crossing = pair.call(3)
    await until(() => !client.isUsable('home-1'))
    expect(await lossOf(pair.call(4))).toMatchObject({ sent: false })

    await until(() => received.length === 3)
    echo(received.slice(0, 1))
    expect(await first[0]).toEqual(reply('1'))
    expect(hasLeft).toBe(false)
    echo(received)
    expect(await Promise.all([first[1], crossing])).toEqual([reply('2'), reply('3')])
    await left
    expect(client.isUsable('home-1')).toBe(false)
  })

  test('a leaving server waits for its clients until the time-out', async () => {
    let received = 0
    pair = await openPair((requests) => void (received += requests.length))
    const lost = lossOf(pair.call(1))
    await until(() => received === 1)
    const began = performance.now()
    await pair.server.leave(200)
    expect(performance.now() - began).toBeGreaterThan(190)
    await pair.server.close()
    expect((await lost).sent).toBe(true)
  })

  test('a restarted process at the same address counts as a new process', async () => {
    pair = await openPair()
    const { client, peer } = pair
    await pair.call(1)
    await pair.server.close()
    await until(() => !client.isUsable('home-1'))
    await using _next = await openPair(echo, { id: 'home-2', port: peer.port })

    expect(client.isUsable('home-2')).toBe(true)
    expect(await client.call({ ...peer, id: 'home-2' }, 2, inTenSeconds())).toEqual(reply('2'))
  })
})

interface PrintedLine {
  port?: number
  payload?: string
  leftMs?: number
  answered?: number
  isUsable?: boolean
  lost?: string
}

function start(...args: string[]) {
  const script = join(import.meta.dirname, 'rpc-process.ts')
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
