import ipaddr from 'ipaddr.js'

interface AddressBook {
  requestIP(request: Request): { address: string } | null
}

/** For an IPv6 address, returns the /64 network, because usually one customer has all addresses of this network. */
export function addressOf(request: Request, server: AddressBook | null, isProxied: boolean): string {
  const forwarded = isProxied ? request.headers.get('x-forwarded-for')?.split(',').at(-1) : undefined
  const reported = forwarded && networkOf(withoutPort(forwarded))
  return reported || networkOf(server?.requestIP(request)?.address ?? '') || 'local'
}

/** Some proxies add a port or quotes: `1.2.3.4:5678`, `"[2001:db8::1]:443"`. */
function withoutPort(address: string): string {
  const text = address.trim().replace(/^"(.*)"$/, '$1')
  return /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, '$1')
}

/** Returns undefined for a text that is not an address, such as `unknown`. */
function networkOf(address: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).toString()
  if (!ipaddr.IPv6.isValid(address)) return undefined
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
