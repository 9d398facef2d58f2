import { isIP } from 'node:net'
import type { Config } from '../../src/config.ts'
import { hostnameOf } from '../../src/hosts.ts'
import { forbidden } from '../../src/responses/errors.ts'

/**
 * Rejects requests of pages from other origins with 403, as the protocol requires against DNS rebinding. A page may
 * choose the name in its own Host header, so without PUBLIC_URL the own host must be an IP address or localhost.
 */
export function openRequireOrigin({ corsOrigins, publicUrl }: Pick<Config, 'corsOrigins' | 'publicUrl'>) {
  const known = [...corsOrigins, ...(publicUrl ? [new URL(publicUrl).origin] : [])]
  return ({ request: { headers } }: { request: Request }): void => {
    const origin = headers.get('origin')
    if (origin === null || known.includes('*') || known.includes(origin)) return
    if (!isOwnAddress(origin, headers.get('host'))) throw originNotAllowed()
  }
}

export const originNotAllowed = () =>
  forbidden('This origin is not allowed; the operator can add it to CORS_ORIGINS')

function isOwnAddress(origin: string, host: string | null): boolean {
  if (!URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.host === host && (url.hostname === 'localhost' || isIP(hostnameOf(url)) !== 0)
}
