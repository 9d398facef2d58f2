import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A connection through a line. */
export interface ProxiedConnection {
  client: Socket
  server: Socket
}

interface Interceptor {
  /** Called with all that comes either way. True when it took the chunk over: nothing is forwarded. */
  intercept(chunk: Buffer, to: Socket, ends: ProxiedConnection): boolean
  onOpen?(ends: ProxiedConnection): void
  /** Whether the end of one side is kept from the other. */
  hidesClose?(ends: ProxiedConnection): boolean
}

/** Stands between clients and a server on a port of its own, and forwards what is not taken over. */
export async function openTcpProxy(toPort: number, meddling: Interceptor, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const ends = { client, server: connect(toPort, host) }
    meddling.onOpen?.(ends)
    const forward = (from: Socket, to: Socket) => {
      sockets.add(from.setNoDelay(true).on('error', () => {}))
      from.on('data', (chunk: Buffer) => void (meddling.intercept(chunk, to, ends) || to.write(chunk)))
      from.on('close', () => void (meddling.hidesClose?.(ends) || to.destroy()))
    }
    forward(client, ends.server)
    forward(ends.server, client)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const cut = () => sockets.forEach((socket) => socket.destroy())
  const close = () => {
    listener.close()
    cut()
  }
  return { port: (listener.address() as AddressInfo).port, cut, close }
}

/** The same before the server of a URL. */
export async function openTcpProxyTo(url: string, meddling: Interceptor) {
  const { port, hostname } = new URL(url)
  const line = await openTcpProxy(Number(port), meddling, hostname)
  return { ...line, url: Object.assign(new URL(url), { host: `127.0.0.1:${line.port}` }).href }
}
