import { availableParallelism } from 'node:os'
import process from 'node:process'
import { urlsIn } from './hosts.ts'

const day = 86_400
const durationUnits: Record<string, number> = { s: 1, m: 60, h: 3600, d: day, w: 7 * day }

/** Thrown at start: names the variable, or each of several, and what it must be. */
export class ConfigError extends Error {}

type Env = Record<string, string | undefined>

export type Settings = ReturnType<typeof settingsIn>

/** Reads settings as they are given, or else as they are by default; `requireUsable` names all that cannot be used. */
export function settingsIn(env: Env) {
  const text = (name: string, fallback = '') => env[name]?.trim() || fallback
  const readers = readersOf(text)
  const problems: string[] = []
  const noted =
    <A extends unknown[], T>(read: (...given: A) => T) =>
    (...given: A): T => {
      try {
        return read(...given)
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        problems.push(error.message)
        return undefined as T // never used: `requireUsable` throws
      }
    }
  return {
    text,
    whole: noted(readers.whole),
    concurrency: noted(readers.concurrency),
    oneOf: noted(readers.oneOf),
    isOn: noted(readers.isOn),
    url: noted(readers.url),
    databaseUrl: noted(readers.databaseUrl),
    redisUrl: noted(readers.redisUrl),
    origins: noted(readers.origins),
    mailbox: noted(readers.mailbox),
    registration: noted(readers.registration),
    secrets: noted(readers.secrets),
    duration: noted(readers.duration),
    /** @throws ConfigError */
    requireUsable(): void {
      if (problems.length > 0) throw new ConfigError(problems.join('; '))
    },
  }
}

function readersOf(text: (name: string, fallback?: string) => string) {
  return {
    whole: (name: string, fallback: number, min: number, max: number) =>
      whole(name, text(name, String(fallback)), min, max),
    concurrency: (name: string, fallback: number, max: number) =>
      concurrency(name, text(name, String(fallback)), max),
    oneOf: (name: string, fallback: string, allowed: string[]) => oneOf(name, text(name, fallback), allowed),
    isOn: (name: string, fallback: 'on' | 'off') => oneOf(name, text(name, fallback), ['on', 'off']) === 'on',
    url: (name: string, protocols: string[]) => url(name, text(name), protocols),
    databaseUrl: (name: string) => databaseUrl(name, text(name)),
    redisUrl: (name: string) => redisUrl(name, text(name)),
    origins: (name: string) => origins(name, text(name)),
    mailbox: (name: string, fallback: string) => mailbox(name, text(name, fallback)),
    registration: (name: string) => registration(name, text(name, 'open')),
    secrets: (name: string) => secrets(name, text(name)),
    duration: (name: string, fallback: string) => duration(name, text(name, fallback)),
  }
}

function whole(name: string, value: string, min: number, max: number): number {
  if (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value)
  throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not "${value}"`)
}

/** How many processes share a port: `auto` is one for each core. */
function concurrency(name: string, value: string, max: number): number {
  const canShare = process.platform === 'linux'
  if (value === 'auto') return canShare ? Math.min(availableParallelism(), max) : 1
  if (!/^\d+$/.test(value) || Number(value) < 1 || Number(value) > max)
    throw new ConfigError(`${name} must be auto or a whole number from 1 to ${max}, not "${value}"`)
  if (Number(value) === 1 || canShare) return Number(value)
  throw new ConfigError(`${name} must be 1 here: only Linux spreads the connections of a port over processes`)
}

function oneOf(name: string, value: string, allowed: string[]): string {
  if (allowed.includes(value)) return value
  throw new ConfigError(`${name} must be one of ${allowed.join(', ')}, not "${value}"`)
}

function url(name: string, value: string, protocols: string[]): string {
  const [first] = urlsIn(value)
  if (!value || (first && protocols.includes(new URL(first).protocol))) return value
  throw new ConfigError(`${name} must be a URL starting with ${protocols.map((p) => `${p}//`).join(' or ')}`)
}

/** Of several servers only one writes, and we need that one. */
function databaseUrl(name: string, value: string): string {
  const [first, second] = urlsIn(url(name, value, ['postgres:', 'postgresql:']))
  const wanted = first && new URL(first).searchParams.get('target_session_attrs')
  if (!wanted || writing.includes(wanted) || (wanted === 'any' && !second)) return value
  throw new ConfigError(`${name} wants the server that writes: target_session_attrs=read-write, or nothing`)
}
const writing = ['read-write', 'primary']

/** One server (by its socket, if it is on this machine), the master that sentinels know by its name, or a cluster. */
function redisUrl(name: string, value: string): string {
  const [first, second] = urlsIn(url(name, value, ['redis:', 'rediss:', 'unix:', ...ofMany]))
  if (!first) return value
  const { protocol, pathname } = new URL(first)
  if (second && !ofMany.includes(protocol))
    throw new ConfigError(
      `${name} must start with redis+sentinel:// or redis+cluster:// to name several hosts`,
    )
  if (protocol.endsWith('+sentinel:') && pathname.length < 2)
    throw new ConfigError(
      `${name} must end with the name that the sentinels know: redis+sentinel://host:26379/NAME`,
    )
  return value
}
const ofMany = ['redis+sentinel:', 'redis+cluster:', 'rediss+sentinel:', 'rediss+cluster:']

function origins(name: string, value: string): string[] {
  const all = value.split(',').flatMap((one) => one.trim() || [])
  const isOrigin = (one: string) => one === '*' || (URL.canParse(one) && new URL(one).origin === one)
  if (all.every(isOrigin)) return all
  throw new ConfigError(`${name} must be * or origins such as https://app.example.com with commas between`)
}

/** A sender: an address, alone or as `Name <address>`. */
function mailbox(name: string, value: string): { name: string; address: string } {
  const [, called = '', bracketed] = /^([^<>"]*)<([^<>]*)>$/.exec(value) ?? []
  const address = bracketed ?? value
  if (/^[^\s<>",;:@]+@[^\s<>",;:@]+$/.test(address) && !/\p{C}/u.test(value))
    return { name: called.trim(), address }
  throw new ConfigError(
    `${name} must be an address such as docket@example.com or Docket <docket@example.com>`,
  )
}

/** Who may register: everybody, nobody, or the owners of addresses in these domains. */
export type Registration = 'open' | 'closed' | string[]

function registration(name: string, value: string): Registration {
  if (value === 'open' || value === 'closed') return value
  const domains = value.split(',').map((domain) => domain.trim().toLowerCase())
  if (domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain))) return domains
  throw new ConfigError(
    `${name} must be open, closed or domains such as example.com,example.org, not "${value}"`,
  )
}

/** The secrets in JWT_SECRET: the first signs tokens, all verify them. */
export const secretsIn = (value: string): string[] => value.split(',').map((secret) => secret.trim())

function secrets(name: string, value: string): string {
  const all = secretsIn(value)
  const isLong = (secret: string) => new TextEncoder().encode(secret).length >= 32
  if (!value || (all.length <= 2 && all.every(isLong))) return value
  throw new ConfigError(`${name} must be at least 32 bytes long: one secret, or two with a comma between`)
}

function duration(name: string, value: string): number {
  const match = /^(\d{1,9})\s*([smhdw]?)$/.exec(value)
  const seconds = match ? Number(match[1]) * (durationUnits[match[2] || 's'] ?? 1) : 0
  if (seconds > 0 && seconds <= 3650 * day) return seconds
  throw new ConfigError(`${name} must be a duration such as 15m, 12h or 7d (at most 3650d), not "${value}"`)
}
