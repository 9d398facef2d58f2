import { availableParallelism } from 'node:os'

/** Thrown at start. The message names each invalid variable and what its value must be. */
export class ConfigError extends Error {}

/** @throws ConfigError whose message begins with `must be` and does not name the variable */
export function check(isRight: unknown, message: string): void {
  if (!isRight) throw new ConfigError(message)
}

const isInteger = (value: string, min: number, max: number) =>
  /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max

export const text = (value: string): string => value

/** For a Service of Kubernetes with the name `metrics`, Kubernetes sets METRICS_PORT=tcp://10.0.0.1:80 in all pods. */
const serviceLink = /^(tcp|udp|sctp):\/\//
const ofService =
  ', which Kubernetes sets for a Service: set enableServiceLinks: false in the spec of the pod'

export const integer = (min: number, max: number) => (value: string) => {
  const advice = serviceLink.test(value) ? ofService : ''
  check(isInteger(value, min, max), `must be a whole number from ${min} to ${max}, not "${value}"${advice}`)
  return Number(value)
}

/** The number of processes that share a port; `auto` means one for each core. */
export const concurrency = (max: number) => (value: string) => {
  if (value === 'auto') return Math.min(availableParallelism(), max)
  check(isInteger(value, 1, max), `must be auto or a whole number from 1 to ${max}, not "${value}"`)
  return Number(value)
}

export const oneOf = (allowed: string[]) => (value: string) => {
  check(allowed.includes(value), `must be one of ${allowed.join(', ')}, not "${value}"`)
  return value
}

export const onOff = (value: string): boolean => oneOf(['on', 'off'])(value) === 'on'

export function origins(value: string): string[] {
  const all = value.split(',').flatMap((one) => one.trim() || [])
  const areRight = all.every((one) => one === '*' || (URL.canParse(one) && new URL(one).origin === one))
  check(areRight, 'must be * or origins such as https://app.example.com with commas between')
  return all
}

export function mailbox(value: string): { name: string; address: string } {
  const [, displayName = '', bracketed] = /^([^<>"]*)<([^<>]*)>$/.exec(value) ?? []
  const address = bracketed ?? value
  const isRight = /^[^\s<>",;:@]+@[^\s<>",;:@]+$/.test(address) && !/\p{C}/u.test(value)
  check(isRight, 'must be an address such as docket@example.com or Docket <docket@example.com>')
  return { name: displayName.trim(), address }
}

/** `open`: everybody may register; `closed`: nobody may register; a list: email addresses must have these domains. */
export type Registration = 'open' | 'closed' | string[]

export function registration(value: string): Registration {
  if (value === 'open' || value === 'closed') return value
  const domains = value.split(',').map((domain) => domain.trim().toLowerCase())
  const areRight = domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain))
  check(areRight, `must be open, closed or domains such as example.com,example.org, not "${value}"`)
  return domains
}

/** The first secret signs tokens; all secrets verify tokens. */
export const secretsIn = (value: string): string[] => value.split(',').map((secret) => secret.trim())

export function secrets(value: string): string {
  const all = secretsIn(value)
  const areLong = all.length <= 2 && all.every((secret) => new TextEncoder().encode(secret).length >= 32)
  check(!value || areLong, 'must be at least 32 bytes long: one secret, or two with a comma between')
  return value
}

const day = 86_400
const secondsIn: Record<string, number> = { s: 1, m: 60, h: 3_600, d: day, w: 7 * day }

export function duration(value: string): number {
  const [, digits = 0, unit = 's'] = /^(\d{1,9})\s*([smhdw])$/.exec(value) ?? []
  const seconds = Number(digits) * secondsIn[unit]!
  const isRight = seconds > 0 && seconds <= 3_650 * day
  check(isRight, `must be a duration with a unit, such as 15m, 12h or 7d (at most 3650d), not "${value}"`)
  return seconds
}
