import type { Sql } from '../../src/postgres/database.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { jobs } from './jobs.ts'
import { projects } from './projects.ts'
import { type Topic, table, Wrong } from './topic.ts'
import { users } from './users.ts'
import { webhooks } from './webhooks.ts'

const topics: Record<string, Topic> = { users, projects, jobs, webhooks }
const notMigrated = ['42P01', '42703']

/** What to print, and the code to exit with. */
export interface Said {
  code: number
  text: string
}

/** What an operator asks for in words, or else the help that they need: no database is asked for it. */
export function readAdmin(words: string[]): Said | ((sql: Sql) => Promise<Said>) {
  const [name = 'help', ...rest] = words
  const topic = Object.hasOwn(topics, name) ? topics[name]! : undefined
  if (!topic) return { code: ['help', '--help', '-h'].includes(name) ? 0 : 1, text: helpOf(topics) }
  const [named = Object.keys(topic)[0]!, ...given] = rest
  const verb = Object.hasOwn(topic, named) ? topic[named]! : undefined
  if (!verb || !fits(verb.takes, given)) return { code: 1, text: helpOf({ [name]: topic }) }
  return (sql) => done(verb.run(sql, ...given))
}

async function done(work: Promise<string>): Promise<Said> {
  try {
    return { code: 0, text: await work }
  } catch (error) {
    if (error instanceof Wrong) return { code: 1, text: error.message }
    if (!notMigrated.includes(errorCode(error))) throw error
    return { code: 1, text: 'The database is not migrated: npm run migrate' }
  }
}

function fits(takes: string, given: string[]): boolean {
  const wanted = takes.split(' ').filter(Boolean)
  const needed = wanted.filter((word) => word.startsWith('<'))
  return given.length >= needed.length && given.length <= wanted.length
}

function helpOf(some: Record<string, Topic>): string {
  const lines = Object.entries(some).flatMap(([name, topic]) =>
    Object.entries(topic).map(([verb, { takes, does }]) => [`  ${name} ${verb} ${takes}`.trimEnd(), does]),
  )
  return `npm run admin -- …\n${table(lines)}`
}
