import type { RedisOptions } from 'ioredis'
import { hostOf, urlsIn } from '../hosts.ts'

const sentinelPort = 26_379
const redisPort = 6_379

export const isCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url)

/** A cluster keeps all keys with the same name in braces in one place, where one script may use them. */
export const tagged = (name: string): string => `{${name}}`

export const clusterOf = (url: string) => urlsIn(url).map((one) => hostOf(one, redisPort))

/** Undefined without sentinels. */
export function sentinelsOf(url: string): RedisOptions | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined
  const name = decodeURIComponent(new URL(urlsIn(url)[0]!).pathname.slice(1))
  const tls = isSecure(url) && { sentinelTLS: {}, enableTLSForSentinelMode: true }
  const sentinels = urlsIn(url).map((one) => hostOf(one, sentinelPort))
  return { ...waysInto(url), ...tls, sentinels, name }
}

/** For every server of the URL. */
export function waysInto(url: string): RedisOptions {
  const { username, password } = new URL(urlsIn(url)[0]!)
  return {
    ...(isSecure(url) && { tls: {} }),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
}

/** The URL of one server, or the path of its socket. */
export const serverOf = (url: string): string =>
  url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) + new URL(url).search : url

const isSecure = (url: string) => url.startsWith('rediss')
