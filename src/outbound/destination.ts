import ipaddr from 'ipaddr.js'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostnameOf } from '../hosts.ts'
import { within } from '../waits.ts'

const maxUrlCharacters = 2_048
const maxAddresses = 4

export class ForbiddenUrl extends Error {}

export type Destinations = ReturnType<typeof openDestinations>

export function openDestinations(policy: AddressPolicy, lookup: Lookup = openLookup()) {
  function read(text: string): URL {
    if (text.length > maxUrlCharacters || !URL.canParse(text)) throw new ForbiddenUrl('must be a URL')
    const url = new URL(text)
    if (url.href.length > maxUrlCharacters)
      throw new ForbiddenUrl(`must have at most ${maxUrlCharacters} characters, percent-encoded`)
    requireProtocol(url, policy)
    if (url.username || url.password) throw new ForbiddenUrl('must not contain a user name or a password')
    const literal = literalIn(url)
    if (literal !== null) requireReachable([literal], policy)
    return url
  }

  /** @throws ForbiddenUrl when one of the addresses is forbidden */
  async function addressesOf(url: URL): Promise<string[]> {
    const literal = literalIn(url)
    const addresses = literal === null ? await lookup(url.hostname) : [literal]
    // Without an address, node:http would connect to localhost.
    if (addresses.length === 0) throw noAddress()
    requireReachable(addresses, policy)
    return addresses.slice(0, maxAddresses)
  }

  return {
    read,
    addressesOf,
    /** Accepts a name that does not resolve yet: each request resolves the name again. @throws ForbiddenUrl */
    async check(text: string, waitMs: number): Promise<URL> {
      const url = read(text)
      await within(waitMs, addressesOf(url)).catch((error: unknown) => {
        if (error instanceof ForbiddenUrl) throw error
      })
      return url
    },
  }
}

function requireProtocol({ protocol }: URL, { allowHttp }: AddressPolicy): void {
  if (protocol === 'https:' || (allowHttp && protocol === 'http:')) return
  if (protocol === 'http:')
    throw new ForbiddenUrl('must begin with https://, unless the operator sets WEBHOOK_ALLOW_HTTP=on')
  throw new ForbiddenUrl(`must begin with https://${allowHttp ? ' or http://' : ''}`)
}

function requireReachable(addresses: string[], policy: AddressPolicy): void {
  const forbidden = addresses.filter((address) => !isReachable(address, policy))
  if (forbidden.length === 0) return
  if (!forbidden.every(isPrivate))
    throw new ForbiddenUrl('must not resolve to a link-local, metadata or reserved address')
  throw new ForbiddenUrl(
    'must resolve to a public address, unless the operator sets WEBHOOK_ALLOW_PRIVATE=on',
  )
}

const noAddress = () => Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' })

const literalIn = (url: URL): string | null => (isIP(hostnameOf(url)) ? hostnameOf(url) : null)

type AddressPolicy = { allowHttp: boolean; allowPrivate: boolean }

const privateRanges = ['loopback', 'private', 'uniqueLocal']
/** Metadata services of cloud providers, outside the link-local networks. */
const metadataAddresses = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'].map((text) => ipaddr.parse(text))
const globalIPv6 = ipaddr.parseCIDR('2000::/3')
/** IPv6 networks whose last 32 bits are an IPv4 address: mapped, compatible, and NAT64. */
const withIPv4 = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map((text) => ipaddr.parseCIDR(text))

const isPrivate = (text: string): boolean =>
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

export type Lookup = (name: string) => Promise<string[]>

const resolverOptions = { timeout: 2_000, tries: 2 }
const systemFilesMs = 30_000
const loopback = ['127.0.0.1', '::1']

/** `lookup` of `node:dns` blocks one of four threads: four dead name servers would also stop all password hashes. */
export function openLookup(hostsFile = '/etc/hosts', servers?: string[]): Lookup {
  const open = async () => {
    const resolver = new Resolver(resolverOptions)
    if (servers) resolver.setServers(servers)
    return { resolver, hosts: parseHosts(await readFile(hostsFile, 'utf8').catch(() => '')) }
  }
  let system = open()
  let readAgainAt = performance.now() + systemFilesMs

  return async (name) => {
    if (performance.now() > readAgainAt) [system, readAgainAt] = [open(), performance.now() + systemFilesMs]
    const { resolver, hosts } = await system
    const bare = name.toLowerCase().replace(/\.$/, '')
    const local = hosts.get(bare) ?? (/(^|\.)localhost$/.test(bare) ? loopback : undefined)
    return local ?? resolve(resolver, bare)
  }
}

async function resolve(resolver: Resolver, name: string): Promise<string[]> {
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length === 0 && results[0].status === 'rejected') throw results[0].reason
  return addresses
}

function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.toLowerCase().split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    for (const name of isIP(address) ? names : []) hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}
