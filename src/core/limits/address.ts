/** The part of Bun's server that knows where a request came from. Elsewhere there is none. */
export interface AddressBook {
  requestIP(request: Request): { address: string } | null
}

/**
 * The address a request came from: the socket's, or with a trusted proxy the last one that proxy wrote down. Of IPv6
 * the network (64 bits), for one customer has all the addresses in it.
 */
export function addressOf(request: Request, server: AddressBook | null, isProxied: boolean): string {
  const forwarded = isProxied ? request.headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined
  const address = forwarded || server?.requestIP(request)?.address || 'local'
  return networkOf(address.replace(/^::ffff:(?=\d+\.)/i, '').slice(0, 100))
}

function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().split('::')
  const groups = head.split(':').filter(Boolean)
  const after = tail?.split(':').filter(Boolean) ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0')
  const all = tail === undefined ? groups : [...groups, ...zeros, ...after]
  return `${all.slice(0, 4).join(':')}::/64`
}
