import { nearest } from '../../src/schema/nearest.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { backup, restore } from './backups.ts'
import { jobs } from './jobs.ts'
import { projects } from './projects.ts'
import { search } from './search.ts'
import {
  type AdminContext,
  plain,
  type CommandGroup,
  table,
  AdminError,
  notMigrated,
} from './command-group.ts'
import { users } from './users.ts'
import { webhooks } from './webhooks.ts'

const groups: Record<string, CommandGroup> = { users, projects, jobs, webhooks, search, backup, restore }

export interface Output {
  code: number
  text: string
}

/** Returns a function that runs the command, or the help text for a wrong command line. */
export function parseAdmin(words: string[]): Output | ((context: AdminContext) => Promise<Output>) {
  const [name = 'help', ...rest] = words
  if (['help', '--help', '-h'].includes(name)) return { code: 0, text: helpOf(groups) }
  const group = ownProperty(groups, name)
  if (!group) return usageError(unknownWord('command', name, Object.keys(groups)), groups)
  const isSingle = Object.hasOwn(group, '')
  const [verb = Object.keys(group)[0]!, ...args] = isSingle ? ['', ...rest] : rest
  const subcommand = ownProperty(group, verb)
  if (!subcommand)
    return usageError(unknownWord(`command of ${name}`, verb, Object.keys(group)), { [name]: group })
  const [usage, , run] = subcommand
  const problem = argumentProblem(usage, args)
  if (problem) return usageError(`${[name, verb].filter(Boolean).join(' ')}: ${problem}`, { [name]: group })
  return (context) => printed(run(context, ...args))
}

const ownProperty = <T>(some: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(some, name) ? some[name] : undefined

const usageError = (problem: string, help: Record<string, CommandGroup>): Output => ({
  code: 1,
  text: `${problem}\n\n${helpOf(help)}`,
})

function unknownWord(kind: string, word: string, names: string[]): string {
  const suggestion = nearest(word, names)
  return `"${plain(word)}" is not a ${kind}${suggestion ? `; did you mean ${suggestion}?` : ''}`
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

function argumentProblem(usage: string, args: string[]): string | undefined {
  const parameters = usage.split(' ').filter(Boolean)
  const missing = parameters.filter((word, at) => word.startsWith('<') && args[at] === undefined)
  if (missing.length > 0) return `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing`
  const extra = args[parameters.length]
  return extra === undefined
    ? undefined
    : `"${plain(extra)}" is one argument too many; put quotes around a name with spaces`
}

function helpOf(some: Record<string, CommandGroup>): string {
  const lines = Object.entries(some).flatMap(([name, group]) =>
    Object.entries(group).map(([verb, [usage, help]]) => [
      `  ${[name, verb, usage].filter(Boolean).join(' ')}`,
      help,
    ]),
  )
  return `npm run admin -- …\n${table(lines)}`
}
