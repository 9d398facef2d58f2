import { expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { encodeFrame } from '../../src/channel/frames.ts'
import { deriveKeys } from '../../src/channel/handshake.ts'
import { kinds } from '../../src/channel/protocol.ts'
import { Served } from '../../src/channel/served.ts'
import { limits, listeningLog, secret } from './pair.ts'
import { greet } from './raw.ts'

test('an asker that vanished without a word is forgotten in time, one that pings is not', async () => {
  const ended: (string | undefined)[] = []
  let served: Served | undefined
  const server = createServer((socket: Socket) => {
    const options = { ...limits, me: 'home-1', host: '', port: 0 }
    const welcomed = () => false
    const events = {
      serve: () => {},
      welcomed,
      log: listeningLog(),
      ended: (_: Served, reason?: string) => void ended.push(reason),
    }
    served = new Served(socket, deriveKeys([secret]), options, events)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { raw, prove } = await greet((server.address() as AddressInfo).port, [secret])
  await prove()
  const ticks = (count: number) => Array.from({ length: count }).forEach(() => served?.tick())
  ticks(299)
  expect(ended).toEqual([])
  raw.send(encodeFrame(kinds.ping))
  expect((await raw.frame()).kind).toBe(kinds.pong)
  ticks(299)
  expect(ended).toEqual([])
  ticks(2)
  expect(ended).toEqual(['went silent'])
  await raw.closed
  server.close()
})
