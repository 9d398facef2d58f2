import { givenTwice, Refusal, unknownParameter } from './refusals.ts'

/** More than any path and query here needs. Headers are the server's to bound: it answers 431 from 16 KiB on. */
export const urlCharacters = 8_192

export const tooLong = () => new Refusal(414, `The URL must have at most ${urlCharacters} characters`)

/** @throws Refusal 414 */
export function requireShort({ url }: Request): void {
  if (url.length > urlCharacters) throw tooLong()
}

/** @throws Refusal 400 naming the parameter given twice */
export function requireSingle({ url }: Request): void {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('&', start)) return
  const seen = new Set<string>()
  for (const name of parametersIn(url, start + 1)) {
    if (seen.has(name)) throw givenTwice(name)
    seen.add(name)
  }
}

/** A hook, for routes without parameters: Elysia awaits one that returns a call. @throws Refusal 400 naming the first */
export function requireNone({ request }: { request: Request }): void {
  const start = request.url.indexOf('?')
  if (start >= 0) for (const name of parametersIn(request.url, start + 1)) throw unknownParameter(name)
}

/** Their names, one by one. */
function* parametersIn(url: string, start: number): Generator<string> {
  for (let from = start, to = from; from <= url.length; from = to + 1) {
    to = endOf(url, '&', from, url.length)
    if (to > from) yield decoded(url.slice(from, endOf(url, '=', from, to)))
  }
}

function endOf(text: string, mark: string, from: number, most: number): number {
  const end = text.indexOf(mark, from)
  return end < 0 || end > most ? most : end
}

function decoded(name: string): string {
  if (!name.includes('%') && !name.includes('+')) return name
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}
