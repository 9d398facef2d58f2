import type { RedisOptions } from 'ioredis'
import { urlsIn } from '../hosts.ts'

const sentinelPort = 26_379
const redisPort = 6_379

export const isCluster = (url: string): boolean => url.startsWith('redis+cluster:')

/** A name in braces: a cluster keeps all keys that have the same in one place, where one script may touch them. */
export const tagged = (name: string): string => `{${name}}`

/** The nodes of a cluster from which the others are found. */
export const clusterOf = (url: string) => nodesOf(url, redisPort)

/** The master of the name that sentinels know; undefined for one server by its address. */
export function sentinelsOf(url: string): RedisOptions | undefined {
  if (!url.startsWith('redis+sentinel:')) return undefined
  const name = decodeURIComponent(new URL(urlsIn(url)[0]!).pathname.slice(1))
  return { ...loginOf(url), sentinels: nodesOf(url, sentinelPort), name }
}

/** The user and the password, which every server of it takes. */
export function loginOf(url: string): RedisOptions {
  const { username, password } = new URL(urlsIn(url)[0]!)
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
}

const nodesOf = (url: string, usualPort: number) =>
  urlsIn(url).map((one) => {
    const { hostname, port } = new URL(one)
    return { host: unbracketed(hostname), port: Number(port || usualPort) }
  })

const unbracketed = (hostname: string) => hostname.replace(/^\[|\]$/g, '')
