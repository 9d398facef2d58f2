import type { ImportedPerson } from '../../items.ts'

const maxAddressCharacters = 254
const isMail = (text: string) =>
  text.length <= maxAddressCharacters && /^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$/.test(text)

/** Reads `Ada`, `ada@example.com` and `Ada <ada@example.com>`. @param text as `oneLine` returns it */
export function personOf(text: string): ImportedPerson {
  const [, name = '', address = ''] = /^(.*?)\s?<([^<>]+)>$/.exec(text) ?? []
  if (isMail(address)) return { name: name || address, email: address }
  return isMail(text) ? { name: text, email: text } : { name: text }
}
