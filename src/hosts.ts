/**
 * A URL that names several hosts, as those of Postgres and Redis may (`postgres://u@h1:p1,h2:p2/db`), taken apart: one
 * for each. Nothing when one of them is no URL.
 */
export function urlsIn(value: string): string[] {
  const [, head = '', hosts = '', rest = ''] =
    /^([^:/?#]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(value) ?? []
  const urls = hosts.split(',').map((host) => head + host + rest)
  const isUrl = (one: string) => URL.canParse(one) && (urls.length === 1 || new URL(one).host !== '')
  return urls.every(isUrl) ? urls : []
}
