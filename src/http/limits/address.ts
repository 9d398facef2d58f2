import ipaddr from 'ipaddr.js'

/** The part of Bun's server that knows where a request came from. Elsewhere there is none. */
export interface AddressBook {
  requestIP(request: Request): { address: string } | null
}

/**
 * The address a request came from: the socket's, or with a trusted proxy the last one that proxy wrote down, when it
 * is one. Of IPv6 the network (64 bits), for one customer has all the addresses in it.
 */
export function addressOf(request: Request, server: AddressBook | null, isProxied: boolean): string {
  const forwarded = isProxied ? request.headers.get('x-forwarded-for')?.split(',').at(-1) : undefined
  const said = forwarded && networkOf(withoutPort(forwarded))
  return said || networkOf(server?.requestIP(request)?.address ?? '') || 'local'
}

/** Proxies also write `1.2.3.4:5678`, `[2001:db8::1]:443`, and either in quotes. */
function withoutPort(written: string): string {
  const text = written.trim().replace(/^"(.*)"$/, '$1')
  return /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, '$1')
}

/** Undefined for what is no address: `unknown`, a name of the proxy's own, nothing. */
function networkOf(address: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).toString()
  if (!ipaddr.IPv6.isValid(address)) return undefined
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
