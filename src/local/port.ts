import { createServer } from 'node:net'

/** A loopback port that is free now. Another process may still take it, so callers retry with a new one. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port)
        else reject(new Error('The system gave no loopback port.'))
      })
    })
  })
}
