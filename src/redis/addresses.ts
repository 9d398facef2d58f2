import type { RedisOptions } from 'ioredis'
import { urlsIn } from '../hosts.ts'

const sentinelPort = 26_379
const redisPort = 6_379

export const isCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url)

/** A name in braces: a cluster keeps all keys that have the same in one place, where one script may touch them. */
export const tagged = (name: string): string => `{${name}}`

/** The nodes of a cluster from which the others are found. */
export const clusterOf = (url: string) => nodesOf(url, redisPort)

/** The master of the name that sentinels know; undefined for one server by its address. */
export function sentinelsOf(url: string): RedisOptions | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined
  const name = decodeURIComponent(new URL(urlsIn(url)[0]!).pathname.slice(1))
  const tls = isSecure(url) && { sentinelTLS: {}, enableTLSForSentinelMode: true }
  return { ...waysInto(url), ...tls, sentinels: nodesOf(url, sentinelPort), name }
}

/** TLS, the user and the password, which every server of it takes. */
export function waysInto(url: string): RedisOptions {
  const { username, password } = new URL(urlsIn(url)[0]!)
  return {
    ...(isSecure(url) && { tls: {} }),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
}

/** One server, as ioredis takes it: a URL, or the path of its socket. */
export const serverOf = (url: string): string =>
  url.startsWith('unix:') ? decodeURIComponent(new URL(url).pathname) + new URL(url).search : url

const isSecure = (url: string) => url.startsWith('rediss')

const nodesOf = (url: string, usualPort: number) =>
  urlsIn(url).map((one) => {
    const { hostname, port } = new URL(one)
    return { host: unbracketed(hostname), port: Number(port || usualPort) }
  })

const unbracketed = (hostname: string) => hostname.replace(/^\[|\]$/g, '')
