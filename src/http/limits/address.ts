import { clientOf } from '../../proxies.ts'

/** For an IPv6 address, returns the /64 network, because usually one customer has all addresses of this network. */
export function addressOf(...request: Parameters<typeof clientOf>): string {
  const client = clientOf(...request)
  if (!client) return 'local'
  if (!('parts' in client)) return client.toString()
  const network = client.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
