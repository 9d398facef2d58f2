/**
 * Replaces the names in braces of a route, such as `GET /projects/{projectId}/labels`, by values of `ids` or `input`.
 * `rest` is the input without these names. @throws TypeError if an id is missing, or is not a text
 */
export function fillRoute(
  route: string,
  input: Record<string, unknown> = {},
  ids: Record<string, string> = {},
) {
  const [method = '', template = ''] = route.split(' ')
  const rest = { ...input }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = ids[name] ?? input[name]
    delete rest[name]
    // URLs treat the segments `.` and `..` as folders.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}`)
    return encodeURIComponent(value)
  })
  return { method, path, rest }
}
