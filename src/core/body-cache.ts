/** An answer's body as it was last built, and the ETag it is good for. */
export interface CachedBody {
  /** Empty for a list over several projects, which has none. */
  etag: string
  body: string
  /** The Link header of a page that has a next one. */
  link: string | null
}

/**
 * Bodies ready to send, at most `limitBytes` of them, the least recently used going first. Nothing in here is ever
 * trusted by itself: a body is served only under the ETag that Postgres gave for this very request.
 */
export class BodyCache {
  private readonly entries = new Map<string, CachedBody>()
  private bytes = 0

  constructor(private readonly limitBytes: number) {}

  /** The body kept under this key, if it was built for this ETag. */
  get(key: string, etag: string): CachedBody | undefined {
    const entry = this.entries.get(key)
    if (entry?.etag !== etag) return undefined
    this.entries.delete(key)
    this.entries.set(key, entry) // most recently used last
    return entry
  }

  set(key: string, entry: CachedBody): void {
    this.forget(key)
    this.entries.set(key, entry)
    this.bytes += weigh(key, entry)
    for (const oldest of this.entries.keys()) {
      if (this.bytes <= this.limitBytes) return
      this.forget(oldest)
    }
  }

  get size(): number {
    return this.entries.size
  }

  private forget(key: string): void {
    const entry = this.entries.get(key)
    if (!entry) return
    this.entries.delete(key)
    this.bytes -= weigh(key, entry)
  }
}

/** Text may take two bytes a character; the rest is the map's own share, measured at about 200 bytes an entry. */
const weigh = (key: string, { body, link }: CachedBody): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) + 200
