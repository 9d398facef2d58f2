import { commands } from '../../modules/commands.ts'
import type { CommandRequest } from '../../src/commands/request.ts'
import type { Config } from '../../src/config.ts'
import { isId, nilId } from '../../src/ids.ts'
import { openLog } from '../../src/log.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { openWritePath } from '../../src/services.ts'
import { react } from '../reactions.ts'

export interface AdminContext {
  config: Config
  sql: Sql
}

/** The words that a verb takes, `<needed>` or `[optional]`, its help, and its work. @throws AdminError */
export type Subcommand = [takes: string, does: string, run: (context: AdminContext, ...words: string[]) => Promise<string>]

/** Verbs by their words; the first is the default. The only verb of a topic has no word. */
export type CommandGroup = Record<string, Subcommand>

/** Why the command cannot be executed. */
export class AdminError extends Error {}

export const withUnit = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** Rows as lines with their columns below each other. */
export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  const line = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}

/** An id for a query: one that nothing has, in the place of any other text. */
export const idOrNil = (text: string): string => (isId(text) ? text : nilId)

/** A text without line ends and escapes of a terminal. */
export const plain = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')

/** Runs a command of the API: processes that serve its project notice it as they do each other's writes. */
export async function runCommand({ config }: AdminContext, request: CommandRequest): Promise<void> {
  const writing = openWritePath(config, openLog('silent'), { commands, react })
  try {
    await writing.run(request)
  } finally {
    await writing.close()
  }
}
