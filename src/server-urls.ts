import { hasBareIpv6, unencodedIn, urlsIn } from './hosts.ts'
import { check, type Setting, setting } from './setting-values.ts'
import { tlsOf, tlsParameters } from './tls.ts'

/** The message does not contain the URL, because a URL may contain a password. */
export const url = (name: string, protocols: string[], unencoded = ''): Setting<string> =>
  setting(name, '', (value) => {
    const isKnown = protocols.some((protocol) => value.startsWith(`${protocol}//`))
    const ending = isKnown ? unencodedIn(value).filter((one) => !unencoded.includes(one)) : []
    const advice = ending.map((one) => `${one} as ${encodeURIComponent(one)}`).join(' and ')
    check(!advice, `must be a URL: in the user and the password, percent-encode ${advice}`)
    check(!hasBareIpv6(value), 'must be a URL with brackets around an IPv6 address, for example [::1]')
    const starts = protocols.map((protocol) => `${protocol}//`).join(' or ')
    check(!value || isKnown, `must be a URL starting with ${starts}`)
    const hasHosts = !value || urlsIn(value).length > 0
    check(hasHosts, 'must be a URL with a host, and with a port from 0 to 65535 or without one')
    return value
  })

/** Its mail client also reads a user such as `ada@example.com` and a single `%`. */
export const smtpUrl = (name: string) => url(name, ['smtp:', 'smtps:'], '@%')

export const databaseUrl = (name: string) =>
  setting(name, '', (value) => {
    const [first, second] = urlsIn(url(name, ['postgres:', 'postgresql:']).read(value))
    if (!first) return value
    const { hostname, searchParams } = new URL(first)
    const isSocket = searchParams.has('host') || /^%2f/i.test(hostname)
    check(
      !isSocket,
      'must have a host before the name of the database, such as localhost: sockets of Unix are not supported',
    )
    const session = searchParams.get('target_session_attrs')
    const canWrite = !session || ['read-write', 'primary'].includes(session) || (session === 'any' && !second)
    check(
      canWrite,
      'must lead to a server that accepts writes: set target_session_attrs=read-write, or leave it out',
    )
    tlsOf(value)
    return value
  })

const manyHostProtocols = ['redis+sentinel:', 'redis+cluster:', 'rediss+sentinel:', 'rediss+cluster:']

/** One server (by TCP or Unix socket), a master that Sentinel knows by name, or a cluster. */
export const redisUrl = (name: string) =>
  setting(name, '', (value) => {
    const [first, second] = urlsIn(
      url(name, ['redis:', 'rediss:', 'unix:', ...manyHostProtocols]).read(value),
    )
    if (!first) return value
    const { protocol, pathname, searchParams } = new URL(first)
    const allowsManyHosts = !second || manyHostProtocols.includes(protocol)
    check(allowsManyHosts, 'must start with redis+sentinel:// or redis+cluster:// to name several hosts')
    const isNamed = !protocol.endsWith('+sentinel:') || pathname.length > 1
    check(isNamed, 'must end with the name of the master: redis+sentinel://host:26379/NAME')
    const isPath = protocol !== 'unix:' || value.startsWith('unix:///')
    check(isPath, 'must have the absolute path of a socket, such as unix:///run/redis.sock')
    const isNumbered = !/^rediss?:$/.test(protocol) || /^\/?\d*$/.test(pathname)
    check(isNumbered, 'must end with the number of a database or without one, such as redis://host:6379/0')
    const { mode } = tlsOf(value, 'verify-full')
    const isSecure = protocol.startsWith('rediss')
    const parameter = tlsParameters.find((one) => searchParams.has(one))
    check(isSecure || !parameter, `must start with rediss:// instead of redis:// to use ${parameter}`)
    const isSure = mode === 'require' || mode.startsWith('verify')
    check(isSure, `must have an sslmode of require, verify-ca or verify-full with rediss, not "${mode}"`)
    return value
  })
