import type { Config } from '../../src/config.ts'
import { isId, nilId } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'

export interface AdminContext {
  config: Config
  sql: Sql
}

/** `usage` lists the parameters: `<required>` or `[optional]`. `run` returns the output. */
type Subcommand = [
  usage: string,
  help: string,
  run: (context: AdminContext, ...words: string[]) => Promise<string>,
]

/** Subcommands by name. The first is the default. The name of a single subcommand is ''. */
export type CommandGroup = Record<string, Subcommand>

/** An error that the operator can correct. Its message is the output of the command. */
export class AdminError extends Error {}

export const withUnit = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  const line = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}

/** Returns a valid id unchanged, and for any other text the nil id, which no row has. */
export const idOrNil = (text: string): string => (isId(text) ? text : nilId)

/** Replaces line breaks and terminal escapes with spaces. */
export const plain = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
