import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Where a name is, as `node:dns` tells it. */
export type Lookup = (name: string) => Promise<{ address: string }[]>

const patience = { timeout: 2_000, tries: 2 }
/** How long what the system says of hosts and name servers is taken to be so. */
const freshMs = 30_000
const loopback = ['127.0.0.1', '::1']

interface System {
  hostsFile?: string
  /** Name servers in place of the system's. */
  servers?: string[]
}

/**
 * Asks name servers for addresses, IPv4 first, after the hosts file. Not by `lookup`, which keeps one of the process's few
 * threads until it has its answer: four names that nobody answers for would hold up all others, and every password.
 */
export function openLookup({ hostsFile = '/etc/hosts', servers }: System = {}): Lookup {
  const open = async () => {
    const resolver = new Resolver(patience)
    if (servers) resolver.setServers(servers)
    return { resolver, hosts: hostsIn(await readFile(hostsFile, 'utf8').catch(() => '')) }
  }
  let system = open()
  let freshUntil = performance.now() + freshMs

  return async (name) => {
    if (performance.now() > freshUntil) [system, freshUntil] = [open(), performance.now() + freshMs]
    const { resolver, hosts } = await system
    const bare = name.toLowerCase().replace(/\.$/, '')
    const known = hosts.get(bare) ?? (/(^|\.)localhost$/.test(bare) ? loopback : undefined)
    return (known ?? (await ask(resolver, bare))).map((address) => ({ address }))
  }
}

/** @throws what the first question was answered with, when neither kind of address is known */
async function ask(resolver: Resolver, name: string): Promise<string[]> {
  const asked = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const [first] = asked
  if (found.length === 0 && first.status === 'rejected') throw first.reason
  return found
}

/** An address and its names on each line, and what stands after a # is not meant. */
function hostsIn(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (!isIP(address)) continue
    for (const name of names.map((one) => one.toLowerCase()))
      hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}
