export interface Page<Row> {
  rows: Row[]
  /** Selects the next page; undefined on the last page. */
  cursor: string | undefined
  /** The version of the project; undefined for a list across projects. */
  version: number | undefined
  /** Of a search: `all`, or the part of the texts that is indexed so far, such as `42%`; undefined for other lists. */
  indexed: string | undefined
}

type ReadPage<Row> = (cursor?: string) => Promise<Page<Row>>

/** A list of the service: `await` reads one page, `for await` reads all rows page by page. */
export class List<Row> implements PromiseLike<Row[]>, AsyncIterable<Row> {
  readonly #read: ReadPage<Row>

  constructor(read: ReadPage<Row>) {
    this.#read = read
  }

  then<A = Row[], B = never>(
    onfulfilled?: ((rows: Row[]) => A | PromiseLike<A>) | null,
    onrejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#read()
      .then(({ rows }) => rows)
      .then(onfulfilled, onrejected)
  }

  catch<B>(onrejected: (error: unknown) => B | PromiseLike<B>): Promise<Row[] | B> {
    return this.then(undefined, onrejected)
  }

  /** Reads one page. Its `cursor` selects the next page. */
  page(cursor?: string): Promise<Page<Row>> {
    return this.#read(cursor)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    let page = await this.#read()
    for (;;) {
      yield* page.rows
      if (page.cursor === undefined) return
      page = await this.#read(page.cursor)
    }
  }

  /** Reads all pages. */
  async all(): Promise<Row[]> {
    const rows: Row[] = []
    for await (const row of this) rows.push(row)
    return rows
  }
}
