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
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdZhZbyXuvaijZokS
3dfg4fY8PTP7zB/KPLKPTNIAXZWhRANCAATqbfW0v0YwpJsDUSm63JpaAl6X5Wi4
8DgMJ49NnPS/8vdaUochXDenus7rAkCRfasl1MXRADk3HnUxlpVViuxW
-----END PRIVATE KEY-----`
export const cert = `-----BEGIN CERTIFICATE-----
MIIBezCCASCgAwIBAgIUO3cBYhtzJAesAuwzblQ7bbexQdQwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
MDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATqbfW0v0YwpJsDUSm63JpaAl6X5Wi48DgMJ49NnPS/8vdaUochXDen
us7rAkCRfasl1MXRADk3HnUxlpVViuxWo04wTDAdBgNVHQ4EFgQUxGcaA3Py4yR4
tXNel4UNRDPqHw4wDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhv
c3SHBH8AAAEwCgYIKoZIzj0EAwIDSQAwRgIhAMdtnraMahe3RRzWBWKlfhplQ3sU
qah089ZhmzCbx1qnAiEAy+w1La9fX2C+4+/Ftbmb04NZuMjNWQCM5FsAyWzXqN4=
-----END CERTIFICATE-----`

export const testCertificate = { key, cert }
