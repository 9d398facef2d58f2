import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** For a wildcard host, returns the first reachable address of this machine. */
export function ownAddress(host: string, interfaces = networkInterfaces()): string {
  if (host !== '0.0.0.0' && host !== '::') return host
  const families = host === '::' ? ['IPv4', 'IPv6'] : ['IPv4']
  const reachable = Object.values(interfaces).flatMap((all) => all?.filter(isReachable) ?? [])
  const [first] = families.flatMap((family) => reachable.filter((address) => address.family === family))
  return first?.address ?? '127.0.0.1'
}

/** Excludes link-local addresses: to connect to one, a client must also name its own network interface. */
const isReachable = ({ internal, address }: NetworkInterfaceInfo): boolean =>
  !internal && !/^(fe[89ab]|169\.254\.)/.test(address)
