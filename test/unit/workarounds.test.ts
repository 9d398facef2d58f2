import { connect, createServer, Socket } from 'node:net'
import { closeOnError, startupMessageFirst, withoutHoles } from '../../src/postgres/workarounds.ts'
import { forFile, listen } from '../kit.ts'

/** Connects to a server with this behaviour. */
async function connectTo(behave: (peer: Socket) => void): Promise<Socket> {
  const { port } = await forFile(listen(createServer((peer) => behave(peer.on('error', () => {})))))
  return connect(port, '127.0.0.1')
}

const reset = async () => {
  const socket = await connectTo((peer) => peer.on('data', () => peer.resetAndDestroy()))
  return socket.on('connect', () => socket.write('x'))
}

test.each([
  ['broken', 'ECONNRESET', reset],
  ['refused', 'ECONNREFUSED', async () => new Socket().connect(1, '127.0.0.1')],
  ['ended', 'CONNECTION_CLOSED', async () => (await connectTo((peer) => peer.end())).resume()],
])(
  'a %s connection emits an error and is closed before an error handler can react',
  async (_, code, open) => {
    const emitted: string[] = []
    const socket = await open()
    closeOnError(socket)
    await new Promise((resolve) => {
      socket.on('error', (error: Error & { code?: string }) => {
        emitted.push(`error ${error.code}`)
        queueMicrotask(() => emitted.push('error handler'))
        setTimeout(resolve, 50)
      })
      socket.on('close', (hadError) => emitted.push(`close ${hadError}`))
    })
    expect(emitted).toEqual([`error ${code}`, 'close true', 'error handler'])
  },
)

test('sends a startup message without the unsent data of the previous connection, and sends everything else unchanged', async () => {
  const greeting = Buffer.from('\0\0\0\x29\0\x03\0\0user\0ada\0database\0docket\0\0', 'latin1')
  const received: Buffer[] = []
  const done = Promise.withResolvers<void>()
  const socket = await connectTo((peer) =>
    peer.on('data', (chunk: Buffer) => received.push(chunk)).on('end', done.resolve),
  )
  startupMessageFirst(socket)
  socket.write(Buffer.concat([Buffer.from('B…E…S'), greeting]))
  socket.end(Buffer.from('B…E…S'))
  await done.promise
  expect(Buffer.concat(received)).toEqual(Buffer.concat([greeting, Buffer.from('B…E…S')]))
})

test('removes empty array slots at the start of a result', () => {
  const rows = [1, 2]
  rows.length = 4
  rows.reverse()
  expect([withoutHoles(rows), withoutHoles([])]).toEqual([[2, 1], []])
})
