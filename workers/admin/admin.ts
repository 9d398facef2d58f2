import { nearest } from '../../src/schema/nearest.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { backup, restore } from './backups.ts'
import { jobs } from './jobs.ts'
import { projects } from './projects.ts'
import { type AdminContext, plain, type CommandGroup, table, AdminError } from './command-group.ts'
import { users } from './users.ts'
import { webhooks } from './webhooks.ts'

const topics: Record<string, CommandGroup> = { users, projects, jobs, webhooks, backup, restore }
const notMigrated = ['42P01', '42703']

export interface Output {
  code: number
  text: string
}

/** Parses an admin command line. Returns a function that runs the command, or a help text for a wrong command line. */
export function parseAdmin(words: string[]): Output | ((context: AdminContext) => Promise<Output>) {
  const [name = 'help', ...rest] = words
  if (['help', '--help', '-h'].includes(name)) return { code: 0, text: helpOf(topics) }
  const topic = ownProperty(topics, name)
  if (!topic) return wrong(unknownWord('command', name, Object.keys(topics)), topics)
  const isVerb = Object.hasOwn(topic, '')
  const [named = Object.keys(topic)[0]!, ...given] = isVerb ? ['', ...rest] : rest
  const verb = ownProperty(topic, named)
  if (!verb) return wrong(unknownWord(`command of ${name}`, named, Object.keys(topic)), { [name]: topic })
  const [usage, , run] = verb
  const problem = argumentProblem(usage, given)
  if (problem) return wrong(`${[name, named].filter(Boolean).join(' ')}: ${problem}`, { [name]: topic })
  return (context) => done(run(context, ...given))
}

const ownProperty = <T>(some: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(some, name) ? some[name] : undefined

const wrong = (problem: string, help: Record<string, CommandGroup>): Output => ({
  code: 1,
  text: `${problem}\n\n${helpOf(help)}`,
})

function unknownWord(what: string, word: string, known: string[]): string {
  const suggestion = nearest(word, known)
  return `"${plain(word)}" is not a ${what}${suggestion ? `; did you mean ${suggestion}?` : ''}`
}

async function done(output: Promise<string>): Promise<Output> {
  try {
    return { code: 0, text: await output }
  } catch (error) {
    if (error instanceof AdminError) return { code: 1, text: error.message }
    if (!notMigrated.includes(errorCode(error))) throw error
    return { code: 1, text: 'The database is not migrated: run npm run migrate first' }
  }
}

function argumentProblem(usage: string, given: string[]): string | undefined {
  const parameters = usage.split(' ').filter(Boolean)
  const missing = parameters.filter((word, at) => word.startsWith('<') && given[at] === undefined)
  if (missing.length > 0) return `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing`
  const extra = given[parameters.length]
  return extra === undefined
    ? undefined
    : `"${plain(extra)}" is one argument too many; put quotes around a name with spaces`
}

function helpOf(some: Record<string, CommandGroup>): string {
  const lines = Object.entries(some).flatMap(([name, topic]) =>
    Object.entries(topic).map(([verb, [usage, help]]) => [
      `  ${[name, verb, usage].filter(Boolean).join(' ')}`,
      help,
    ]),
  )
  return `npm run admin -- …\n${table(lines)}`
}
