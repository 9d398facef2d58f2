import { expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { endingAtOnce } from '../../src/core/postgres-socket.ts'

test('a connection that breaks has ended before anybody can act on its error', async () => {
  const server = createServer(
    (peer) => void peer.on('data', () => peer.resetAndDestroy()).on('error', () => {}),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const socket = endingAtOnce({ host: ['127.0.0.1'], port: [port] })
  const heard: string[] = []
  const over = new Promise<void>((resolve) => {
    socket.on('error', () => {
      heard.push('error')
      queueMicrotask(() => heard.push('whoever was refused'))
      setTimeout(resolve, 50)
    })
  })
  socket.on('close', (hadError) => heard.push(`close ${hadError}`))
  socket.on('connect', () => socket.write('x'))
  await over
  server.close()
  expect(heard).toEqual(['error', 'close true', 'whoever was refused'])
})

test('a connection that is refused says so, and ends', async () => {
  const socket = endingAtOnce({ host: ['127.0.0.1'], port: [1] })
  const heard: string[] = []
  socket.on('error', () => heard.push('error'))
  await new Promise<void>((resolve) => {
    socket.on('close', (hadError) => {
      heard.push(`close ${hadError}`)
      setTimeout(resolve, 50)
    })
  })
  expect(heard).toEqual(['error', 'close true'])
})
