import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** The address for other processes: of a wildcard host the first address of the machine. */
export function ownAddress(host: string, interfaces = networkInterfaces()): string {
  if (host !== '0.0.0.0' && host !== '::') return host
  const families = host === '::' ? ['IPv4', 'IPv6'] : ['IPv4']
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? [])
  const found = families.flatMap((family) => all.filter((one) => one.family === family && isReachable(one)))
  return found[0]?.address ?? '127.0.0.1'
}

/** A link-local address would need the name of the other's interface. */
const isReachable = ({ internal, address }: NetworkInterfaceInfo): boolean =>
  !internal && !/^(fe[89ab]|169\.254\.)/.test(address)
