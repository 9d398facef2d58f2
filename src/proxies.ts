import ipaddr from 'ipaddr.js'
import { check, ConfigError } from './setting-values.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/**
 * Returns true for an address that is a trusted proxy, as `trust proxy` of Express: by the number of proxies that are
 * nearer to this process, or by the address. Undefined if no proxy is trusted.
 */
type TrustProxy = ((address: Address | undefined, hop: number) => boolean) | undefined

export interface AddressBook {
  requestIP(request: Request): { address: string } | null
}

const names = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
])

export function trustProxy(value: string): TrustProxy {
  if (value === 'off' || value === '0') return undefined
  if (value === 'on') return (_, hop) => hop < 1
  if (/^\d{1,3}$/.test(value)) return (_, hop) => hop < Number(value)
  const written = value.split(',').flatMap((one) => names.get(one.trim()) ?? one.trim())
  const networks = written.map(readNetwork)
  return (address) =>
    networks.some(([network, bits]) => network.kind() === address?.kind() && address.match(network, bits))
}

function readNetwork(written: string): Network {
  const [text = '', bits, ...rest] = written.split('/')
  const address = readAddress(text)
  const all = address?.kind() === 'ipv4' ? 32 : 128
  const isWhole = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= all)
  if (address && isWhole && rest.length === 0) return [address, Number(bits ?? all)]
  throw new ConfigError(
    `must be on, off, a number of proxies such as 2, or addresses, networks, loopback, linklocal or uniquelocal such as loopback,10.0.0.0/8, not "${written}"`,
  )
}

/** Returns undefined for a text that is not an address, such as `unknown`. IPv4 in IPv6 becomes IPv4. */
function readAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!ipaddr.IPv6.isValid(text)) return undefined
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

const peerOf = (request: Request, server: AddressBook | null) =>
  readAddress(server?.requestIP(request)?.address ?? '')

/** Returns the last address that a trusted proxy has reported, or the address of the connection. */
function clientOf(request: Request, server: AddressBook | null, trust: TrustProxy): Address | undefined {
  let client = peerOf(request, server)
  if (!trust) return client
  const before = request.headers.get('x-forwarded-for')?.split(',').reverse() ?? []
  for (let hop = 0; hop < before.length && trust(client, hop); hop++) {
    const next = readAddress(withoutPort(before[hop]!))
    if (!next) break
    client = next
  }
  return client
}

/** For an IPv6 address, returns the /64 network, because usually one customer has all addresses of this network. */
export function addressOf(...request: Parameters<typeof clientOf>): string {
  const client = clientOf(...request)
  if (!client) return 'local'
  if (!('parts' in client)) return client.toString()
  const network = client.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}

/** Some proxies add a port: `1.2.3.4:5678`, `[2001:db8::1]:443`. */
function withoutPort(address: string): string {
  const text = address.trim()
  return /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, '$1')
}

const maxBasePathCharacters = 200

/** Returns undefined if the path could lead to another host, contains `..`, or has a character that needs an escape. */
function readBasePath(text: string): string | undefined {
  const path = text.replace(/\/$/, '')
  const segments = path.split('/').slice(1)
  const isRight =
    path.length <= maxBasePathCharacters &&
    (path === '' || (path.startsWith('/') && segments.every((one) => /^(?!\.{1,2}$)[\w.~-]+$/.test(one))))
  return isRight ? path : undefined
}

/** The path that a proxy removes from the start of each request's path. */
export function basePath(value: string): string {
  const path = readBasePath(value)
  check(
    path !== undefined,
    `must be a path such as /docket, with letters, digits and -._~ between the slashes, and at most ${maxBasePathCharacters} characters`,
  )
  return path!
}

export interface BasePaths {
  /** Returns the path from `X-Forwarded-Prefix` of a trusted proxy; BASE_PATH is the default. */
  of(request: Request, server: AddressBook | null): string
  /** The request headers that change the path. */
  vary: string[]
}

export function openBasePaths({
  basePath,
  trustProxy,
}: {
  basePath: string
  trustProxy: TrustProxy
}): BasePaths {
  if (!trustProxy) return { of: () => basePath, vary: [] }
  return {
    vary: ['X-Forwarded-Prefix'],
    of(request, server) {
      const header = request.headers.get('x-forwarded-prefix')
      if (header === null || !trustProxy(peerOf(request, server), 0)) return basePath
      return readBasePath(header) ?? basePath
    },
  }
}
