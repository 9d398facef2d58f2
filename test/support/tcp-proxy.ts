import { connect, createServer, type Socket } from 'node:net'
import { listen } from './listen.ts'

export interface ProxiedConnection {
  client: Socket
  server: Socket
}

interface Interceptor {
  /** Called with each chunk from either side. If it returns true, the chunk is not forwarded. */
  intercept(chunk: Buffer, to: Socket, ends: ProxiedConnection): boolean
  onOpen?(ends: ProxiedConnection): void
  /** If true, closing one socket leaves the other socket open. */
  hidesClose?(ends: ProxiedConnection): boolean
}

export async function openTcpProxy(toPort: number, interceptor: Interceptor, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const ends = { client, server: connect(toPort, host) }
    interceptor.onOpen?.(ends)
    const forward = (from: Socket, to: Socket) => {
      sockets.add(from.setNoDelay(true).on('error', () => {}))
      from.on('data', (chunk: Buffer) => void (interceptor.intercept(chunk, to, ends) || to.write(chunk)))
      from.on('close', () => void (interceptor.hidesClose?.(ends) || to.destroy()))
    }
    forward(client, ends.server)
    forward(ends.server, client)
  })
  const { port } = await listen(listener)
  const cut = () => sockets.forEach((socket) => socket.destroy())
  const close = () => {
    listener.close()
    cut()
  }
  return { port, cut, close }
}

export async function openTcpProxyTo(url: string, interceptor: Interceptor) {
  const { port, hostname } = new URL(url)
  const line = await openTcpProxy(Number(port), interceptor, hostname)
  return { ...line, url: Object.assign(new URL(url), { host: `127.0.0.1:${line.port}` }).href }
}
