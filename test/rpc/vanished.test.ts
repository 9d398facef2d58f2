import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { authenticate, deriveKeys, welcomeOf } from '../../src/routing/handshake.ts'
import { RpcClient } from '../../src/routing/rpc-client.ts'
import { ServedConnection } from '../../src/routing/rpc-served.ts'
import { limits, listeningLog, secret, soon, until } from './pair.ts'
import { connectRaw, serveRaw } from './raw.ts'

test('disconnects a client that has sent nothing for 30 s, not one that sends heartbeats', async () => {
  let connection: ServedConnection | undefined
  const server = await serveRaw(({ socket }) => {
    connection = new ServedConnection(socket, limits, () => {}, listeningLog())
  })
  const { socket, next } = await connectRaw(server.port, 'not checked here')
  await until(() => connection !== undefined)
  const ticks = (count: number) => Array.from({ length: count }).forEach(() => connection!.tick())
  ticks(299)
  socket.send('[0]')
  expect(await next()).toEqual([expect.any(Number)])
  ticks(300)
  expect(socket.readyState).toBe(socket.OPEN)
  ticks(1)
  await once(socket, 'close')
  server.close()
})

test('keeps an idle connection whose heartbeats are answered, and gives up one whose are not', async () => {
  const closed = Promise.withResolvers<number>()
  const server = await serveRaw(({ socket }, header) => {
    const [nonce, key] = authenticate(deriveKeys([secret]), 'home-1', header)
    socket.send(JSON.stringify(welcomeOf(key, 'home-1', nonce, performance.now())))
    let heartbeats = 0
    socket.on('message', (data) => {
      if (String(data) === '[0]' && ++heartbeats <= 6) socket.send(`[${performance.now()}]\n`)
    })
    socket.on('close', () => closed.resolve(heartbeats))
  })
  const log = listeningLog()
  const client = new RpcClient(limits, log)
  void client.call({ id: 'home-1', host: '127.0.0.1', port: server.port }, 1, soon()).catch(() => {})
  expect(await closed.promise).toBeGreaterThan(6)
  expect(log.told.map(({ what }) => what.reason)).toEqual(['went silent'])
  client.close()
  server.close()
})
