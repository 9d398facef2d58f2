/** An answer as it goes out, and as it is kept for a caller who asks again. */
export interface Reply {
  status: number
  body: string
  etag: string | null
}
