import { isIP } from 'node:net'
import { hostnameOf } from '../hosts.ts'
import { within } from '../within.ts'
import { isPrivate, isReachable, type AddressPolicy } from './addresses.ts'
import { type Lookup, openLookup } from './lookup.ts'

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
