import { readFileSync, readlinkSync } from 'node:fs'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import type { Peer } from './rpc.ts'

/** For a wildcard host, returns the first reachable address of this machine. */
export function ownAddress(host: string, interfaces = networkInterfaces()): string {
  if (host !== '0.0.0.0' && host !== '::') return host
  const families = host === '::' ? ['IPv4', 'IPv6'] : ['IPv4']
  const reachable = Object.values(interfaces).flatMap((all) => all?.filter(isReachable) ?? [])
  const [first] = families.flatMap((family) => reachable.filter((address) => address.family === family))
  return first?.address ?? '127.0.0.1'
}

/** Identifies the network namespace of this boot of a Linux machine: processes in it share loopback. */
export function ownMachine(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/net')}`
  } catch {
    return undefined
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

/** Returns what the operator must do if processes of other machines are alive but cannot reach this process. */
export function unreachableHost(self: Peer, peers: Iterable<Peer>): string | undefined {
  if (!isLoopback(self.host)) return undefined
  for (const { host, machine = self.machine } of peers)
    if (!isLoopback(host) || machine !== self.machine)
      return `A process of another machine is alive (its HOME_HOST is ${host}), but cannot reach this process at ${self.host}: set HOME_HOST to an address that the other machines can reach, or to 0.0.0.0 for the first address of this machine`
  return undefined
}

/** Excludes link-local addresses: to connect to one, a client must also name its own network interface. */
const isReachable = ({ internal, address }: NetworkInterfaceInfo): boolean =>
  !internal && !/^(fe[89ab]|169\.254\.)/.test(address)
