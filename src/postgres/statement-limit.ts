import type { Sql } from 'postgres'

/** A connection of postgres.js, as it is passed to `onexecute`. */
interface Connection {
  execute(query: object): unknown
}

/** The fields of a query that postgres.js sets when it sends the query. `state` belongs to the connection. */
export interface SentQuery {
  options: { onexecute?: (connection: Connection) => boolean }
  prepare?: boolean
  /** True if the connection had the statement before this query. */
  prepared?: boolean
  signature: string
  statement: { name: string }
  state: { pid: number } | null
}

interface Prepared {
  pid: number
  /** The names of the statements by signature, the least recently used first. A signature contains the text. */
  names: Map<string, string>
  characters: number
}

/**
 * Bounds the prepared statements of each connection. Postgres keeps a statement until it is deallocated, with about 110
 * bytes for each character of its text (measured), and clients choose the filters of a list. postgres.js never
 * deallocates a statement.
 */
export class StatementLimit {
  private readonly byConnection = new WeakMap<object, Prepared>()

  constructor(
    private readonly sql: Sql,
    private readonly maxCharacters: number,
  ) {}

  /**
   * Deallocates statements after the query is sent, if its statement is prepared already. postgres.js does not call
   * `onexecute` for a new statement: it then sends the query in two parts, and no other query may be sent between them.
   */
  watch(query: SentQuery): void {
    query.options.onexecute = (connection) => {
      const prepared = this.preparedOf(query)
      if (!prepared) return true
      if (query.prepared) use(prepared, query)
      if (prepared.characters > this.maxCharacters) this.deallocateOldest(connection, prepared)
      return true
    }
  }

  /**
   * Call this when the query has ended. Ignores a query whose statement was prepared before: `watch` has counted it.
   */
  ended(query: SentQuery): void {
    if (!query.prepare || query.prepared) return
    const prepared = this.preparedOf(query)
    if (prepared) use(prepared, query)
  }

  /** A new connection of the same object has no statements. */
  private preparedOf({ state }: SentQuery): Prepared | undefined {
    if (!state) return undefined
    let prepared = this.byConnection.get(state)
    if (prepared?.pid !== state.pid) {
      prepared = { pid: state.pid, names: new Map(), characters: 0 }
      this.byConnection.set(state, prepared)
    }
    return prepared
  }

  private deallocateOldest(connection: Connection, prepared: Prepared): void {
    for (const [signature, name] of prepared.names) {
      if (prepared.characters <= this.maxCharacters) return
      forget(prepared, signature)
      connection.execute(this.deallocation(signature, name))
    }
  }

  /**
   * postgres.js forgets a statement only when it describes the statement again. So this query pretends to describe the
   * statement, but `simple` makes postgres.js send the text.
   */
  private deallocation(signature: string, name: string): object {
    const query = this.sql.unsafe(`deallocate "${name}"`)
    // The connection executes the query. Without `executed`, `catch` would send it to the pool.
    Object.assign(query, { executed: true, onlyDescribe: true })
    Object.defineProperty(query, 'signature', { get: () => signature, set() {} })
    // Otherwise postgres.js would send one more Sync after an error.
    Object.defineProperty(query, 'describeFirst', { get: () => false, set() {} })
    query.catch(() => {})
    return query
  }
}

function use(prepared: Prepared, { signature, statement }: SentQuery): void {
  forget(prepared, signature)
  prepared.names.set(signature, statement.name)
  prepared.characters += signature.length
}

function forget(prepared: Prepared, signature: string): void {
  if (prepared.names.delete(signature)) prepared.characters -= signature.length
}
