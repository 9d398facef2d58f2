import type { Config } from '../../src/config.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import type { Sql } from '../../src/postgres/database.ts'

export interface AdminContext {
  config: Config
  sql: Sql
}

type Run = (context: AdminContext, ...words: string[]) => Promise<string>

/** Commands by their words and parameters, such as `projects list [email]`. The first command with a word is its default. */
export type Commands = Record<string, [help: string, run: Run]>

/** The command prints only the message, because the operator can correct the error. */
export class AdminError extends Error {}

/** SQLSTATEs of a table or a column that does not exist. */
export const notMigrated = ['42P01', '42703']

export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  const line = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}

/** Replaces line breaks and terminal escapes with spaces. */
export const plain = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')

export interface Output {
  code: number
  text: string
}

/** Returns a function that runs the command, or the help text for a wrong command line. */
export function parse(
  commands: Commands,
  words: string[],
): Output | ((context: AdminContext) => Promise<Output>) {
  const all = Object.entries(commands).map(([usage, [help, run]]) => {
    const [path, parameters] = [usage.match(/^[a-z- ]+\b/)![0].split(' '), usage.match(/[<[]\S+/g) ?? []]
    return { usage, help, run, path, parameters }
  })
  const help = `npm run admin -- …\n${table(all.map(({ usage, help }) => [`  ${usage}`, help]))}`
  const wrong = (problem: string): Output => ({ code: 1, text: `${problem}\n\n${help}` })

  const [name = 'help', verb] = words
  if (['help', '--help', '-h'].includes(name)) return { code: 0, text: help }
  const command = all.find(({ path }) => path[0] === name && (!verb || path.length === 1 || path[1] === verb))
  if (!command) return wrong(`"${plain(words.slice(0, 2).join(' '))}" is not a command`)
  const { path, parameters, run } = command
  const args = words.slice(path.length)
  const required = parameters.filter((word) => word.startsWith('<'))
  if (args.length < required.length || args.length > parameters.length) {
    const given = plain(args.join(' ')) || 'nothing'
    return wrong(`${path.join(' ')} needs ${parameters.join(' ') || 'no argument'}, not: ${given}`)
  }
  return (context) => printed(run(context, ...args))
}

async function printed(output: Promise<string>): Promise<Output> {
  try {
    return { code: 0, text: await output }
  } catch (error) {
    if (error instanceof AdminError) return { code: 1, text: error.message }
    if (!notMigrated.includes(errorCode(error))) throw error
    return { code: 1, text: 'The database is not migrated: run npm run migrate first' }
  }
}
