import type { RedisOptions } from 'ioredis'
import { hostOf, urlsIn } from '../hosts.ts'
import { tlsOf } from '../tls.ts'

const sentinelPort = 26_379
const redisPort = 6_379

export const isCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url)

export const hashTag = (name: string): string => `{${name}}`

export const clusterNodesOf = (url: string) => urlsIn(url).map((server) => hostOf(server, redisPort))

export function sentinelsOf(url: string): RedisOptions | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined
  const name = decodeURIComponent(new URL(urlsIn(url)[0]!).pathname.slice(1))
  const { tls } = tlsOptionsOf(url)
  const sentinels = urlsIn(url).map((server) => hostOf(server, sentinelPort))
  const sentinelTls = tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }
  return { ...credentialsOf(url), ...sentinelTls, sentinels, name }
}

export function credentialsOf(url: string): RedisOptions {
  const { username, password } = new URL(urlsIn(url)[0]!)
  return {
    ...tlsOptionsOf(url),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
}

export const serverUrlOf = (url: string): string =>
  url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) + new URL(url).search : url

export const tlsOptionsOf = (url: string): Pick<RedisOptions, 'tls'> =>
  url.startsWith('rediss') ? { tls: tlsOf(url, 'verify-full').options } : {}
