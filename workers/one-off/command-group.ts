import { commands } from '../../modules/commands.ts'
import type { CommandRequest } from '../../src/commands/request.ts'
import type { Config } from '../../src/config.ts'
import { isId, nilId } from '../../src/id-format.ts'
import { openLog } from '../../src/logger.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { openWritePath } from '../../src/services.ts'
import { react } from '../reactions.ts'

export interface AdminContext {
  config: Config
  sql: Sql
}

type Subcommand = [
  usage: string,
  help: string,
  run: (context: AdminContext, ...words: string[]) => Promise<string>,
]

/** The first subcommand is the default. A single subcommand is named ''. */
export type CommandGroup = Record<string, Subcommand>

/** The command prints only the message, because the operator can correct the error. */
export class AdminError extends Error {}

/** SQLSTATEs of a table or a column that does not exist. */
export const notMigrated = ['42P01', '42703']

export const withUnit = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  const line = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}

/** Replaces a text that is not an id by the nil id, which no row has. */
export const idOrNil = (text: string): string => (isId(text) ? text : nilId)

/** Replaces line breaks and terminal escapes with spaces. */
export const plain = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')

export async function runCommand({ config }: AdminContext, request: CommandRequest): Promise<void> {
  const writePath = openWritePath(config, openLog('silent'), { commands, react })
  try {
    await writePath.run(request)
  } finally {
    await writePath.close()
  }
}
