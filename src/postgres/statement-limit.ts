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
  /** The names of the statements by signature, the least recently used first. */
  names: Map<string, string>
}

/**
 * Bounds the prepared statements of each connection. Postgres keeps a statement until it is deallocated, about 0.25 MiB
 * for a list, and clients choose the filters of a list. postgres.js never deallocates a statement.
 */
export class StatementLimit {
  private readonly byConnection = new WeakMap<object, Prepared>()

  constructor(
    private readonly sql: Sql,
    private readonly max: number,
  ) {}

  /**
   * Deallocates statements after the query is sent, if its statement is prepared already. postgres.js does not call
   * `onexecute` for a new statement: it then sends the query in two parts, and no other query may be sent between them.
   */
  watch(query: SentQuery): void {
    query.options.onexecute = (connection) => {
      const names = this.namesOf(query)
      if (!names) return true
      if (query.prepared) use(names, query)
      if (names.size > this.max) this.deallocateOldest(connection, names)
      return true
    }
  }

  /** Call this when the query has ended. A repeated statement was counted before, and may be deallocated since. */
  ended(query: SentQuery): void {
    if (!query.prepare || query.prepared) return
    const names = this.namesOf(query)
    if (names) use(names, query)
  }

  /** A new connection of the same object has no statements. */
  private namesOf({ state }: SentQuery): Map<string, string> | undefined {
    if (!state) return undefined
    let prepared = this.byConnection.get(state)
    if (prepared?.pid !== state.pid) {
      prepared = { pid: state.pid, names: new Map() }
      this.byConnection.set(state, prepared)
    }
    return prepared.names
  }

  private deallocateOldest(connection: Connection, names: Map<string, string>): void {
    for (const [signature, name] of names) {
      if (names.size <= this.max) return
      names.delete(signature)
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

function use(names: Map<string, string>, { signature, statement }: SentQuery): void {
  names.delete(signature)
  names.set(signature, statement.name)
}
