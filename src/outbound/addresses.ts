import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** How far requests that callers ask for may reach. */
export interface Reach {
  /** Plain http too. */
  allowHttp: boolean
  /** Loopback and private networks too. */
  allowPrivate: boolean
}

const own = ['loopback', 'private', 'uniqueLocal']
/** Where clouds tell a machine its secrets, outside of the link-local networks. */
const metadata = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'].map((one) => ipaddr.parse(one))
const globalIPv6 = ipaddr.parseCIDR('2000::/3')
/** IPv6 networks whose last 32 bits are the IPv4 address that is meant: mapped, compatible, and by NAT64. */
const withIPv4 = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map((one) => ipaddr.parseCIDR(one))

/** True for an address that may be connected to only where private ones are allowed. */
export const isPrivate = (text: string): boolean =>
  isReachable(text, { allowPrivate: true }) && !isReachable(text, { allowPrivate: false })

/** True for an address that may be connected to. What is neither public nor the own network never is. */
export function isReachable(text: string, { allowPrivate }: Pick<Reach, 'allowPrivate'>): boolean {
  if (!isIP(text)) return false
  const address = meant(ipaddr.parse(text))
  if (metadata.some((one) => one.toString() === address.toString())) return false
  const range = address.range()
  if (own.includes(range)) return allowPrivate
  return range === 'unicast' && (address.kind() === 'ipv4' || address.match(globalIPv6))
}

/** The IPv4 address in an IPv6 one, where that is what it stands for. */
function meant(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === 'ipv4' || ['::', '::1'].includes(address.toString())) return address
  const bytes = address.toByteArray()
  return withIPv4.some((one) => address.match(one)) ? ipaddr.fromByteArray(bytes.slice(12)) : address
}
