import { isIP } from 'node:net'
import { hostnameOf } from '../hosts.ts'
import { within } from '../within.ts'
import { isPrivate, isReachable, type AddressPolicy } from './addresses.ts'
import { type Lookup, openLookup } from './lookup.ts'

const maxUrlCharacters = 2_048
const maxAddresses = 4

export class ForbiddenUrl extends Error {}

export type Destinations = ReturnType<typeof openDestinations>

/** Checks a URL, and every address that its name has just now. */
export function openDestinations(reach: AddressPolicy, look: Lookup = openLookup()) {
  /** @throws Forbidden */
  function read(text: string): URL {
    if (text.length > maxUrlCharacters || !URL.canParse(text)) throw new ForbiddenUrl('must be a URL')
    const url = new URL(text)
    if (url.href.length > maxUrlCharacters)
      throw new ForbiddenUrl(`must have at most ${maxUrlCharacters} characters, as it is sent`)
    requireProtocol(url, reach)
    if (url.username || url.password) throw new ForbiddenUrl('must hold no user name and no password')
    const literal = literalIn(url)
    if (literal !== null) requireReachable([literal], reach)
    return url
  }

  /** At least one address. @throws Forbidden when one of them may not be reached */
  async function addressesOf(url: URL): Promise<string[]> {
    const literal = literalIn(url)
    const found = literal === null ? await look(url.hostname) : [{ address: literal }]
    if (found.length === 0) throw noAddress() // without an address a request would go to this machine
    const addresses = found.map(({ address }) => address)
    requireReachable(addresses, reach)
    return addresses.slice(0, maxAddresses)
  }

  return {
    read,
    addressesOf,
    /** A name without an address passes: each request looks it up again. @throws Forbidden */
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

function requireReachable(addresses: string[], reach: AddressPolicy): void {
  const astray = addresses.filter((address) => !isReachable(address, reach))
  if (astray.length === 0) return
  if (!astray.every(isPrivate))
    throw new ForbiddenUrl('must lead to an address that requests from here may go to')
  throw new ForbiddenUrl('must lead to a public address, unless the operator sets WEBHOOK_ALLOW_PRIVATE=on')
}

const noAddress = () => Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' })

const literalIn = (url: URL): string | null => (isIP(hostnameOf(url)) ? hostnameOf(url) : null)
