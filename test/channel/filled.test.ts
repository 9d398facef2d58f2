import { expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { encodeFrame } from '../../src/channel/frames.ts'
import { decodeAnswers } from '../../src/channel/messages.ts'
import { openPeers } from '../../src/channel/peers.ts'
import { kinds, Lost } from '../../src/channel/protocol.ts'
import { Refusal } from '../../src/wire/refusals.ts'
import { limits, listeningLog, openPair, reply, secret, soon, until } from './pair.ts'
import { greet, readRaw, welcomeAs } from './raw.ts'

const unsentBytes = 1_048_576
/** What the kernel may hold of one connection on loopback, both sides together. */
const kernelBytes = 16_777_216

test('a home that reads nothing is sent so much and no more: 503, then it is given up', async () => {
  const server = createServer((socket) => {
    void readRaw(socket)
      .then((raw) => welcomeAs(raw, 'home-1', secret))
      .then(() => socket.pause())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const peer = { id: 'home-1', host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const peers = openPeers({ ...limits, unsentBytes, pendingAsks: 100_000 }, listeningLog())
  const payload = 'x'.repeat(65_536)
  const errors: Error[] = []
  let asked = 0
  const refused = () => errors.find((error) => error instanceof Refusal)
  while (!refused() && asked * payload.length < 4 * kernelBytes) {
    asked++
    void peers.ask(peer, payload, soon()).catch((error: Error) => void errors.push(error))
    if (asked % 8 === 0) await new Promise((resolve) => setImmediate(resolve))
    await Promise.resolve()
  }
  expect((refused() as Refusal | undefined)?.status).toBe(503)
  expect(asked * payload.length).toBeLessThan(kernelBytes + unsentBytes)
  expect(errors.filter((error) => error instanceof Lost)).toEqual([])
  // Among those that were too many none is kept.
  await until(() => errors.length === asked)
  const lost = errors.filter((error) => error instanceof Lost)
  expect([lost.length > 0, lost.every(({ message }) => message === 'went silent')]).toEqual([true, true])
  await peers.close()
  server.close()
})

test('an asker that takes no answers is not read from either; others are served, and it gets all when it reads', async () => {
  const count = 1_000
  const size = 65_536
  let served = 0
  const pair = await openPair(
    (asks) =>
      asks.forEach((ask) => {
        if (Array.isArray(ask.payload)) served++
        ask.answer(reply(Array.isArray(ask.payload) ? 'y'.repeat(size) : 'ok'))
      }),
    { listener: { unsentBytes } },
  )
  const { raw, prove } = await greet(pair.peer.port, [secret])
  await prove()
  raw.socket.pause()
  const padding = JSON.stringify(['x'.repeat(32_768)])
  for (let i = 0; i < count; i++)
    raw.send(encodeFrame(kinds.asks, `[${i},${Math.floor(soon()) + 60_000},${padding}]`))
  let before = -1
  while (before !== served) {
    before = served
    await Bun.sleep(300)
  }
  expect(served * size).toBeLessThan(kernelBytes + unsentBytes)
  expect(await pair.peers.ask(pair.peer, 'honest', soon())).toEqual(reply('ok'))
  expect(served).toBe(before)

  raw.socket.resume()
  const got = new Set<number>()
  while (got.size < count) {
    const frame = await raw.frame()
    expect(frame.kind).toBe(kinds.answers)
    for (const { id, answer } of decodeAnswers(frame.body.toString()).all) {
      expect(answer.kind === 'reply' && answer.body.length).toBe(size)
      got.add(id)
    }
  }
  raw.socket.destroy()
  await pair.close()
})
