/** The ETag of the compressed form: other bytes, so another strong ETag. */
export const gzipTag = (etag: string): string => `${etag.slice(0, -1)}-gzip"`

/** The ETag of what was compressed: both forms are of one version. */
export const plainTag = (etag: string): string => (etag.endsWith('-gzip"') ? `${etag.slice(0, -6)}"` : etag)
