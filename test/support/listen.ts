import type { AddressInfo, Server } from 'node:net'

/** Starts a server on a free port of the loopback address. Closing it also closes its HTTP connections. */
export async function listen(server: Server & { closeAllConnections?(): void }) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections?.()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
