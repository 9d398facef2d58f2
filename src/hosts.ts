/** Splits `postgres://u@h1:p1,h2:p2/db` into one URL for each host. Returns an empty array if a part is not a URL. */
export function urlsIn(value: string): string[] {
  const [, head = '', hosts = '', rest = ''] =
    /^([^:/?#]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(value) ?? []
  const urls = hosts.split(',').map((host) => head + host + rest)
  const isUrl = (one: string) => URL.canParse(one) && (urls.length === 1 || new URL(one).host !== '')
  return urls.every(isUrl) ? urls : []
}

/**
 * Returns the characters of the user and password that must be percent-encoded, because a URL parser would not read
 * them as a part of the password.
 */
export function unencodedIn(value: string): string[] {
  const [, afterScheme = ''] = /^[^:/?#]+:\/\/([^/].*)$/s.exec(value) ?? []
  // In a URL with the password `a?b=c`, the URL parser finds no host.
  const hasHost = urlsIn(value).length > 0
  const [beforeParameters = ''] = hasHost ? afterScheme.split(/\?\w+=/) : [afterScheme]
  const credentials = beforeParameters.slice(0, Math.max(0, beforeParameters.lastIndexOf('@')))
  const found = [...credentials].filter((one) => '/?@'.includes(one))
  if (value.includes('#')) found.push('#')
  if (decoded(value) === undefined) found.push('%')
  return [...new Set(found)]
}

/** Returns undefined for a text that is not percent-encoded UTF-8. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

export const hostnameOf = ({ hostname }: URL): string => withoutBrackets(hostname)

/** Returns the host as a part of a URL. */
export const inUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)

export function hostOf(url: string, defaultPort: number): { host: string; port: number } {
  const parsed = new URL(url)
  return { host: hostnameOf(parsed), port: Number(parsed.port || defaultPort) }
}
