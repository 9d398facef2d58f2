import { givenTwice, Refusal, unknownParameter } from './refusals.ts'

/** More than any path and query here needs. Headers are the server's to bound: it answers 431 from 16 KiB on. */
export const urlCharacters = 8_192

export const tooLong = () => new Refusal(414, `The URL must have at most ${urlCharacters} characters`)

/** @throws Refusal 414 */
export function requireShort({ url }: Request): void {
  if (url.length > urlCharacters) throw tooLong()
}

/** @throws Refusal 400 naming a parameter that is given twice */
export function requireSingle({ url }: Request): void {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('&', start)) return
  const seen = new Set<string>()
  for (const name of new URLSearchParams(url.slice(start)).keys()) {
    if (seen.has(name)) throw givenTwice(name)
    seen.add(name)
  }
}

/** A hook, for routes without parameters: Elysia awaits one that returns a call. @throws Refusal 400 naming the first */
export function requireNone({ request: { url } }: { request: Request }): void {
  const start = url.indexOf('?')
  if (start >= 0)
    for (const name of new URLSearchParams(url.slice(start)).keys()) throw unknownParameter(name)
}
