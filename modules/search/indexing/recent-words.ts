import type { Sql } from '../../../src/postgres/database.ts'

const maxWords = 50_000

/** Words that this process has recently inserted into `search_words`, so that most titles need no insert. */
export class RecentWords {
  private known = new Set<string>()
  private since = performance.now()

  /** @param keepMs less than the time for which `search_words` keeps a word that no document contains */
  constructor(private readonly keepMs: number) {}

  async insert(sql: Sql, words: Set<string>): Promise<void> {
    if (this.known.size > maxWords || performance.now() > this.since + this.keepMs) this.clear()
    // Two statements that insert the same words in different orders would block each other.
    const added = [...words.difference(this.known)].sort()
    if (added.length === 0) return
    await sql`insert into search_words (word) select * from unnest(${added}::text[])
      on conflict (word) do update set unused_since = null where search_words.unused_since is not null`
    for (const word of added) this.known.add(word)
  }

  private clear(): void {
    this.known = new Set()
    this.since = performance.now()
  }
}
