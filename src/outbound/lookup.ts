import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

export type Lookup = (name: string) => Promise<{ address: string }[]>

const resolverOptions = { timeout: 2_000, tries: 2 }
/** How long the system's hosts and name servers are kept. */
const systemFilesMs = 30_000
const loopback = ['127.0.0.1', '::1']

/**
 * Reads the hosts file, then asks name servers, IPv4 first. `lookup` of `node:dns` would block one of few threads: four
 * names without an answer would delay all others, and every password.
 */
export function openLookup(hostsFile = '/etc/hosts', servers?: string[]): Lookup {
  const open = async () => {
    const resolver = new Resolver(resolverOptions)
    if (servers) resolver.setServers(servers)
    return { resolver, hosts: parseHosts(await readFile(hostsFile, 'utf8').catch(() => '')) }
  }
  let system = open()
  let freshUntil = performance.now() + systemFilesMs

  return async (name) => {
    if (performance.now() > freshUntil) [system, freshUntil] = [open(), performance.now() + systemFilesMs]
    const { resolver, hosts } = await system
    const bare = name.toLowerCase().replace(/\.$/, '')
    const known = hosts.get(bare) ?? (/(^|\.)localhost$/.test(bare) ? loopback : undefined)
    return (known ?? (await resolve(resolver, bare))).map((address) => ({ address }))
  }
}

async function resolve(resolver: Resolver, name: string): Promise<string[]> {
  const asked = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  if (found.length === 0 && asked[0].status === 'rejected') throw asked[0].reason
  return found
}

function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.toLowerCase().split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    for (const name of isIP(address) ? names : []) hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}
