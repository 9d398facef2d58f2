import { readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { listen } from './listen.ts'

/** Opens a proxy that accepts TLS connections for a Postgres, with a self-signed certificate. */
export async function openTlsProxy(
  databaseUrl: string,
): Promise<{ url(mode: string): string; close(): void }> {
  const { port, hostname } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const server = createServer((raw) => {
    sockets.add(raw.on('error', () => {}))
    raw.once('data', () => {
      raw.write('S')
      const postgres = connect(Number(port), hostname)
      const secure = new TLSSocket(raw, { isServer: true, key, cert })
      for (const socket of [secure, postgres]) sockets.add(socket.on('error', () => socket.destroy()))
      secure.pipe(postgres)
      postgres.pipe(secure)
      secure.on('close', () => postgres.destroy())
    })
  })
  const listening = await listen(server)
  return {
    url(mode) {
      const url = new URL(databaseUrl)
      url.host = `localhost:${listening.port}`
      url.searchParams.set('sslmode', mode)
      return url.href
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A self-signed certificate for localhost and 127.0.0.1, only for tests. */
export const [key, cert] = ['key', 'cert'].map((name) =>
  readFileSync(new URL(`./localhost-${name}.pem`, import.meta.url), 'utf8'),
) as [string, string]

export const testCertificate = { key, cert }
