/** Splits `postgres://u@h1:p1,h2:p2/db` into one URL for each host. Returns an empty array if a part is not a URL. */
export function urlsIn(value: string): string[] {
  const [, head = '', hosts = '', rest = ''] =
    /^([^:/?#]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(value) ?? []
  const urls = hosts.split(',').map((host) => head + host + rest)
  const isUrl = (one: string) => URL.canParse(one) && (urls.length === 1 || new URL(one).host !== '')
  return urls.every(isUrl) ? urls : []
}

export const hostnameOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

export function hostOf(url: string, defaultPort: number): { host: string; port: number } {
  const parsed = new URL(url)
  return { host: hostnameOf(parsed), port: Number(parsed.port || defaultPort) }
}
