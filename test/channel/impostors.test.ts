import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { encodeFrame } from '../../src/channel/frames.ts'
import { openPeers, type Peers } from '../../src/channel/peers.ts'
import { kinds, Lost, version } from '../../src/channel/protocol.ts'
import { failureOf, limits, listeningLog, secret, soon } from './pair.ts'
import { challenge, type Raw, readRaw, terms, welcomeAs } from './raw.ts'

let peers: Peers
beforeAll(() => void (peers = openPeers(limits, listeningLog())))
afterAll(() => peers.close())

let count = 0
/** What an asker says of somebody at the address where a home should be, and what it sent him after the handshake. */
async function met(
  act: (raw: Raw, id: string) => Promise<void>,
): Promise<{ message: string; sent: boolean }> {
  const id = `home-${++count}`
  const server = createServer(
    (socket) =>
      void readRaw(socket)
        .then((raw) => act(raw, id))
        .catch(() => {}),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const lost = await failureOf(peers.ask({ id, host: '127.0.0.1', port }, 'secret', soon()))
  server.close()
  expect(lost).toBeInstanceOf(Lost)
  return { message: lost.message, sent: (lost as Lost).sent }
}

const notHe = { message: 'is not who we looked for', sent: false }

test('who welcomes as the protocol says is asked', async () => {
  const asked: number[] = []
  const { sent } = await met(async (raw, id) => {
    await welcomeAs(raw, id, secret)
    asked.push((await raw.frame()).kind)
    raw.socket.destroy()
  })
  expect([sent, asked]).toEqual([true, [kinds.asks]])
})

test('another process with the same secret is not who was looked for', async () => {
  expect(await met((raw) => welcomeAs(raw, 'home-x', secret))).toEqual(notHe)
})

test('nor is one with another secret, or one that proves itself in our own role', async () => {
  expect(await met((raw, id) => welcomeAs(raw, id, 'a secret nobody else knows, but long'))).toEqual(notHe)
  expect(await met((raw, id) => welcomeAs(raw, id, secret, 'asker'))).toEqual(notHe)
})

test('nor one that gives back what it was sent', async () => {
  const echoes = await met(async (raw) => void raw.socket.on('data', (chunk: Buffer) => raw.send(chunk)))
  expect(echoes).toEqual({ message: 'no challenge', sent: false })
  const takesProofBack = await met(async (raw) => {
    await raw.frame()
    raw.send(encodeFrame(kinds.challenge, challenge))
    raw.send(encodeFrame(kinds.welcome, Buffer.concat([(await raw.frame()).body, terms])))
  })
  expect(takesProofBack).toEqual(notHe)
})

test('another version is named, and nobody may say much before the handshake', async () => {
  const other = await met(async (raw) => raw.send(encodeFrame(kinds.challenge, Buffer.of(version + 1, 1, 2))))
  expect(other).toEqual({ message: `speaks version ${version + 1}, not ${version}`, sent: false })
  const large = await met(async (raw) => raw.send(Buffer.from([0, 1, 0, 0, kinds.challenge])))
  expect(large).toEqual({ message: 'a frame of 65536 bytes, at most 1024 allowed', sent: false })
  const answers = await met(async (raw) => raw.send(encodeFrame(kinds.answers, '[0,0,200,2,null,0]\nok')))
  expect(answers).toEqual({ message: 'no challenge', sent: false })
})
