import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type AddressPolicy = { allowHttp: boolean; allowPrivate: boolean }

const privateRanges = ['loopback', 'private', 'uniqueLocal']
/** Metadata services of cloud providers, outside the link-local networks. */
const metadataAddresses = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'].map((text) => ipaddr.parse(text))
const globalIPv6 = ipaddr.parseCIDR('2000::/3')
/** IPv6 networks whose last 32 bits are an IPv4 address: mapped, compatible, and NAT64. */
const withIPv4 = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map((text) => ipaddr.parseCIDR(text))

export const isPrivate = (text: string): boolean =>
  isReachable(text, { allowPrivate: true }) && !isReachable(text, { allowPrivate: false })

export function isReachable(text: string, { allowPrivate }: Pick<AddressPolicy, 'allowPrivate'>): boolean {
  if (!isIP(text)) return false
  const address = unwrapIPv4(ipaddr.parse(text))
  if (metadataAddresses.some((metadata) => metadata.toString() === address.toString())) return false
  const range = address.range()
  if (privateRanges.includes(range)) return allowPrivate
  return range === 'unicast' && (address.kind() === 'ipv4' || address.match(globalIPv6))
}

function unwrapIPv4(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === 'ipv4' || ['::', '::1'].includes(address.toString())) return address
  const bytes = address.toByteArray()
  return withIPv4.some((network) => address.match(network)) ? ipaddr.fromByteArray(bytes.slice(12)) : address
}
