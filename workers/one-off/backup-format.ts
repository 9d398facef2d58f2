import type { MigrationMeta } from 'drizzle-orm/migrator'
import { AdminError } from './command-group.ts'

// A backup is a gzipped SQL script with a COPY for each table. psql can run it in a database with the same migrations.

const first = '-- docket backup 1, migrations: '
export const last = '-- end of the docket backup'

export const firstLine = (hashes: string[]): string => first + hashes.join(' ')

export const hashesIn = (line = ''): string[] | undefined =>
  line.startsWith(first) ? line.slice(first.length).split(' ') : undefined

export function migrationsOf(hashes: string[], allMigrations: MigrationMeta[]): MigrationMeta[] | undefined {
  const applied = allMigrations.slice(0, hashes.length)
  const areSame = hashes.length > 0 && hashes.every((hash, n) => applied[n]?.hash === hash)
  return areSame ? applied : undefined
}

export const backupDamaged = () => new AdminError('The backup is damaged or incomplete: nothing was restored')

/** Tables of the search index. A restored service fills these tables again. */
export const isDerived = (table: string): boolean => /^search(_|$)/.test(table)

export const tablesOf = (migrations: MigrationMeta[]): string[] =>
  migrations.flatMap(({ sql }) =>
    sql.flatMap((statement) => /^\s*create table "(\w+)"/i.exec(statement)?.[1] ?? []),
  )

/** Each table is a block: a line `COPY "users" ("id", …) FROM stdin;`, the rows, and a line `\.` */
const opening = /^COPY "(\w+)" \("\w+"(?:, "\w+")*\) FROM stdin;$/
const closing = Buffer.from('\\.\n')
const closingLine = Buffer.from('\n\\.\n')
const newline = 0x0a

/** The caller must read all rows of a block before the next line. */
export class BackupReader {
  private rest: Buffer = Buffer.alloc(0)
  private readonly source: AsyncIterator<Buffer>

  constructor(source: AsyncIterable<Buffer>) {
    this.source = source[Symbol.asyncIterator]()
  }

  async line(): Promise<string | undefined> {
    while (!this.rest.includes(newline)) if (!(await this.more())) return undefined
    const line = this.take(this.rest.indexOf(newline) + 1)
    return line.toString().trimEnd()
  }

  block(line: string) {
    const [statement, table] = opening.exec(line) ?? []
    return statement && table ? { table, statement, rows: this.rows() } : undefined
  }

  private async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      while (!this.rest.includes(newline)) if (!(await this.more())) throw backupDamaged()
      if (this.rest.subarray(0, closing.length).equals(closing)) return void this.take(closing.length)
      const end = this.rest.indexOf(closingLine)
      yield this.take((end === -1 ? this.rest.lastIndexOf(newline) : end) + 1)
    }
  }

  private take(bytes: number): Buffer {
    const taken = this.rest.subarray(0, bytes)
    this.rest = this.rest.subarray(bytes)
    return taken
  }

  private async more(): Promise<boolean> {
    const { done, value } = await this.source.next()
    if (done) return false
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, value]) : value
    return true
  }
}
