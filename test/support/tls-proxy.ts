import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import { listen } from './listen.ts'

/** A self-signed certificate for localhost and 127.0.0.1, only for tests. */
export const [key, cert] = ['key', 'cert'].map((name) =>
  readFileSync(new URL(`./localhost-${name}.pem`, import.meta.url), 'utf8'),
) as [string, string]

export const testCertificate = { key, cert }

/** Opens a server that accepts TLS connections, and forwards their bytes to another server. */
export function openTlsTunnel(port: number, hostname: string) {
  const server = createSecureServer(testCertificate, (socket) => {
    const target = connect(port, hostname)
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const)
      one
        .on('error', () => {})
        .on('close', () => other.destroy())
        .pipe(other)
  })
  return listen(server.on('tlsClientError', () => {}))
}

/** Opens a proxy that accepts TLS connections for a Postgres. */
export async function openTlsProxy(databaseUrl: string) {
  const { port, hostname } = new URL(databaseUrl)
  const tunnel = await openTlsTunnel(Number(port), hostname)
  const server = createServer((client) => {
    client
      .on('error', () => {})
      .once('data', () => {
        const secure = connect(tunnel.port, '127.0.0.1').on('error', () => client.destroy())
        client.write('S')
        client.pipe(secure).pipe(client)
      })
  })
  const proxy = await listen(server)
  const host = `localhost:${proxy.port}`
  return {
    url: (mode: string) => `${Object.assign(new URL(databaseUrl), { host }).href}?sslmode=${mode}`,
    close() {
      for (const { close } of [proxy, tunnel]) void close()
    },
  }
}
