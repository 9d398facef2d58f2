import { expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { endingAtOnce, greetingAlone, whole } from '../../src/postgres/workarounds.ts'

const listening = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** What is heard of a socket's end, in order. */
function endOf(socket: Socket): Promise<string[]> {
  const heard: string[] = []
  endingAtOnce(socket)
  return new Promise((resolve) => {
    socket.on('error', (error: Error & { code?: string }) => {
      heard.push(`error ${error.code}`)
      queueMicrotask(() => heard.push('whoever was refused'))
      setTimeout(resolve, 50, heard)
    })
    socket.on('close', (hadError) => heard.push(`close ${hadError}`))
  })
}

test('a connection that breaks has ended before anybody can act on its error', async () => {
  const server = createServer(
    (peer) => void peer.on('data', () => peer.resetAndDestroy()).on('error', () => {}),
  )
  const socket = connect(await listening(server), '127.0.0.1')
  socket.on('connect', () => socket.write('x'))
  expect(await endOf(socket)).toEqual(['error ECONNRESET', 'close true', 'whoever was refused'])
  server.close()
})

test('a connection that is refused says so, and ends', async () => {
  const heard = await endOf(new Socket().connect(1, '127.0.0.1'))
  expect(heard).toEqual(['error ECONNREFUSED', 'close true', 'whoever was refused'])
})

test('a connection that ends without a word has failed', async () => {
  const server = createServer((peer) => void peer.end())
  const socket = connect(await listening(server), '127.0.0.1')
  socket.resume()
  expect(await endOf(socket)).toEqual(['error CONNECTION_CLOSED', 'close true', 'whoever was refused'])
  server.close()
})

test('a greeting goes out without what was left of the connection before, and all after it as it is', async () => {
  const greeting = Buffer.from('\0\0\0\x29\0\x03\0\0user\0ada\0database\0docket\0\0', 'latin1')
  const received: Buffer[] = []
  const done = Promise.withResolvers<void>()
  const server = createServer((peer) => {
    peer.on('data', (chunk: Buffer) => received.push(chunk)).on('end', done.resolve)
    peer.on('error', () => {})
  })
  const socket = connect(await listening(server), '127.0.0.1')
  greetingAlone(socket)
  socket.write(Buffer.concat([Buffer.from('B…E…S'), greeting]))
  socket.end(Buffer.from('B…E…S'))
  await done.promise
  expect(Buffer.concat(received)).toEqual(Buffer.concat([greeting, Buffer.from('B…E…S')]))
  server.close()
})

test('holes at the start of a result are taken out', () => {
  const rows = [1, 2]
  rows.length = 4
  rows.reverse()
  expect(whole(rows)).toEqual([2, 1])
  expect(whole([])).toEqual([])
})
