import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

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
