import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A connection through a line. */
export interface Ends {
  client: Socket
  server: Socket
}

interface Meddling {
  /** Called with all that comes either way. True when it took the chunk over: nothing is forwarded. */
  takes(chunk: Buffer, to: Socket, ends: Ends): boolean
  opened?(ends: Ends): void
  /** Whether the end of one side is kept from the other. */
  hidesEnd?(ends: Ends): boolean
}

/** Stands between clients and a server on a port of its own, and forwards what is not taken over. */
export async function openLine(toPort: number, meddling: Meddling, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const ends = { client, server: connect(toPort, host) }
    meddling.opened?.(ends)
    const forward = (from: Socket, to: Socket) => {
      sockets.add(from.setNoDelay(true).on('error', () => {}))
      from.on('data', (chunk: Buffer) => void (meddling.takes(chunk, to, ends) || to.write(chunk)))
      from.on('close', () => void (meddling.hidesEnd?.(ends) || to.destroy()))
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
export async function openLineTo(url: string, meddling: Meddling) {
  const { port, hostname } = new URL(url)
  const line = await openLine(Number(port), meddling, hostname)
  return { ...line, url: Object.assign(new URL(url), { host: `127.0.0.1:${line.port}` }).href }
}
