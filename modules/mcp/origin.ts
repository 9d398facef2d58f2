import { isIP } from 'node:net'
import type { Config } from '../../src/config.ts'
import { hostnameOf } from '../../src/hosts.ts'
import { forbidden } from '../../src/responses/errors.ts'

/**
 * Returns a check that rejects pages of other origins with 403: the protocol requires it against DNS rebinding. An attacker
 * can choose a host name that leads to the service, so `Host` counts only if it is localhost or an IP address.
 */
export function openRequireOrigin({ corsOrigins, publicUrl }: Pick<Config, 'corsOrigins' | 'publicUrl'>) {
  const allowed = [...corsOrigins, ...(publicUrl ? [new URL(publicUrl).origin] : [])]
  return ({ request: { headers } }: { request: Request }): void => {
    const origin = headers.get('origin')
    if (origin === null || allowed.includes('*') || allowed.includes(origin)) return
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
