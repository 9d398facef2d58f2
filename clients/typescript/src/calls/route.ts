/**
 * Fills the names in braces of a route such as `GET /projects/{projectId}/labels`; `rest` has the other fields.
 * @throws TypeError if an id is no text that a path can contain
 */
export function fillRoute(route: string, input: Record<string, unknown> = {}) {
  const [method = '', template = ''] = route.split(' ')
  const rest = { ...input }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = input[name]
    delete rest[name]
    // URLs treat the segments `.` and `..` as folders.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id`)
    return encodeURIComponent(value)
  })
  return { method, path, rest }
}
