import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { ServedConnection } from '../../src/routing/rpc-served.ts'
import { limits, listeningLog, until } from './pair.ts'
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
