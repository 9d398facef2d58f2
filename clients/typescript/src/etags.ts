const etags = new WeakMap<object, string>()

/** Returns the ETag that the service sent with a resource. Returns undefined for a row of a list. */
export const etagOf = (resource: object): string | undefined => etags.get(resource)

export function rememberEtag(body: unknown, headers: Headers): void {
  const etag = headers.get('etag')
  if (etag && typeof body === 'object' && body !== null && !Array.isArray(body)) etags.set(body, etag)
}

/** Returns the value of `If-Match`. @throws TypeError if the resource has no ETag */
export function ifMatchOf(condition: string | object): string {
  const etag = typeof condition === 'string' ? condition : etagOf(condition)
  if (!etag)
    throw new TypeError('ifMatch must be an ETag, or a resource that a call other than list returned')
  return etag
}
