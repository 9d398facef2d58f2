import { readFileSync } from 'node:fs'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { urlsIn } from './hosts.ts'
import { ConfigError } from './setting-values.ts'

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/**
 * As `sslmode` in libpq: `require` verifies the certificate only if `sslrootcert` is set; `verify-full` also verifies
 * the host name.
 */
type TlsMode = (typeof modes)[number]

export interface Tls {
  mode: TlsMode
  options: ConnectionOptions
}

export const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']

/** Names that other clients use for TLS. Without this check, a connection could be less secure than its URL demands. */
const otherParameter = /^(ssl|tls|uselibpq|channel_binding|gssencmode)/i

/** Reads the parameters and the files. @throws ConfigError that names the parameter */
export function tlsOf(url: string, fallback: TlsMode = 'disable'): Tls {
  const { searchParams } = new URL(urlsIn(url)[0]!)
  const names = [...searchParams.keys()]
  const other = names.find((name) => otherParameter.test(name) && !tlsParameters.includes(name))
  if (other)
    throw new ConfigError(
      `must not have the parameter ${other}: remove it, and set sslmode (${modes.join(', ')}), sslrootcert, sslcert and sslkey`,
    )
  const twice = tlsParameters.find((name) => searchParams.getAll(name).length > 1)
  if (twice) throw new ConfigError(`must have the parameter ${twice} only once`)
  const mode = readMode(searchParams, fallback)
  const [ca, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map((name) =>
    readFile(name, searchParams.get(name)),
  )
  if (!cert !== !key) throw new ConfigError('must have both sslcert and sslkey, or neither')
  requirePem({ ca, cert, key })
  const isVerified = mode.startsWith('verify') || (mode === 'require' && ca !== undefined)
  return {
    mode,
    options: {
      ...{ ca, cert, key, rejectUnauthorized: isVerified },
      ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    },
  }
}

function readMode(parameters: URLSearchParams, fallback: TlsMode): TlsMode {
  const given = parameters.get('sslmode')
  const mode = modes.find((one) => one === (given ?? fallback))
  if (!mode) throw new ConfigError(`must have an sslmode of ${modes.join(', ')}, not "${given}"`)
  const file = tlsParameters.find((name) => name !== 'sslmode' && parameters.has(name))
  if (file && given === null && mode === 'disable')
    throw new ConfigError(`must have an sslmode with ${file}, for example sslmode=verify-full`)
  return mode
}

function readFile(name: string, path: string | null): string | undefined {
  if (path === null) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`must have an ${name} that can be read: "${path}" fails with ${code}`)
  }
}

function requirePem({ ca, cert, key }: Record<'ca' | 'cert' | 'key', string | undefined>): void {
  // With an empty `ca`, a connection would trust the authorities of the system.
  const hasCertificates = [ca, cert].every((pem) => pem?.includes(' CERTIFICATE-----') ?? true)
  try {
    if (hasCertificates) return void createSecureContext({ ca, cert, key })
  } catch {
    // The message is the same.
  }
  throw new ConfigError(
    'must have certificates in PEM format in sslrootcert and sslcert, and the unencrypted key of sslcert in sslkey',
  )
}
