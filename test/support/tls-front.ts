import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Stands before Postgres and speaks TLS for it, with a certificate that nobody has signed. */
export async function openTlsFront(
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url(mode) {
      const url = new URL(databaseUrl)
      url.host = `localhost:${(server.address() as AddressInfo).port}`
      url.searchParams.set('sslmode', mode)
      return url.href
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Good for nothing but tests: self-signed, for localhost, and so its own authority. */
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdZhZbyXuvaijZokS
3dfg4fY8PTP7zB/KPLKPTNIAXZWhRANCAATqbfW0v0YwpJsDUSm63JpaAl6X5Wi4
8DgMJ49NnPS/8vdaUochXDenus7rAkCRfasl1MXRADk3HnUxlpVViuxW
-----END PRIVATE KEY-----`
export const cert = `-----BEGIN CERTIFICATE-----
MIIBljCCATugAwIBAgIUe7ep0REhG/SeuqgLFFkKOsEzOrowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIyMzAzNFoYDzIxMjYxMDI4
MjIzMDM0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATqbfW0v0YwpJsDUSm63JpaAl6X5Wi48DgMJ49NnPS/8vdaUochXDen
us7rAkCRfasl1MXRADk3HnUxlpVViuxWo2kwZzAdBgNVHQ4EFgQUxGcaA3Py4yR4
tXNel4UNRDPqHw4wHwYDVR0jBBgwFoAUxGcaA3Py4yR4tXNel4UNRDPqHw4wDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SQAwRgIhAJAPn0SdOxCSWq2IjiKaD9zdcVjGwZswm0WvmJP1cP1MAiEAsF/KyUhx
1dpLsQBXFF/45jHeJlcubIOFjnSFd/HDamc=
-----END CERTIFICATE-----`

export const testCertificate = { key, cert }
