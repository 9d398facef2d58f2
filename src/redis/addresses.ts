import type { RedisOptions } from 'ioredis'
import { hostOf, urlsIn } from '../hosts.ts'

const sentinelPort = 26_379
const redisPort = 6_379

export const isCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url)

/** Keys with the same hash tag are in the same slot of a cluster, so one script may use them together. */
export const hashTag = (name: string): string => `{${name}}`

export const clusterNodesOf = (url: string) => urlsIn(url).map((server) => hostOf(server, redisPort))

/** Returns undefined for a URL without Sentinel. */
export function sentinelsOf(url: string): RedisOptions | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined
  const name = decodeURIComponent(new URL(urlsIn(url)[0]!).pathname.slice(1))
  const tls = isSecure(url) && { sentinelTLS: {}, enableTLSForSentinelMode: true }
  const sentinels = urlsIn(url).map((server) => hostOf(server, sentinelPort))
  return { ...credentialsOf(url), ...tls, sentinels, name }
}

/** User, password and TLS. They are the same for every server in the URL. */
export function credentialsOf(url: string): RedisOptions {
  const { username, password } = new URL(urlsIn(url)[0]!)
  return {
    ...(isSecure(url) && { tls: {} }),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
}

/** Returns the URL of the server, or the path of its Unix socket. */
export const serverUrlOf = (url: string): string =>
  url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) + new URL(url).search : url

const isSecure = (url: string) => url.startsWith('rediss')
