import type { Sql } from '../src/postgres/database.ts'
import { errorCode } from '../src/postgres/errors.ts'
import { dropParked, listParked, type Parked, retryParked } from './parked.ts'

const usage = 'Say one of: jobs list, jobs retry <id|all>, jobs drop <id|all>'
const changes = new Map([
  ['retry', retryParked],
  ['drop', dropParked],
])
const notMigrated = ['42P01', '42703']

/** Shows the parked jobs, asks for them again or gives them up; answers what to print and the code to exit with. */
export async function manageJobs(sql: Sql, words: string[]): Promise<{ code: number; text: string }> {
  const [verb = 'list', which, ...rest] = words
  const change = changes.get(verb)
  const isKnown = change ? which !== undefined : verb === 'list' && which === undefined
  if (!isKnown || rest.length > 0) return { code: 1, text: usage }
  try {
    if (!change) return { code: 0, text: told(await listParked(sql)) }
    const count = await change(sql, which!)
    if (count === 0 && which !== 'all') return { code: 1, text: `No parked job has the id ${which}` }
    return { code: 0, text: `${counted(count)} ${verb === 'retry' ? 'asked for again' : 'dropped'}` }
  } catch (error) {
    if (!notMigrated.includes(errorCode(error))) throw error
    return { code: 1, text: 'The database is not migrated: npm run migrate' }
  }
}

const told = ({ parked, more, owed }: Awaited<ReturnType<typeof listParked>>): string =>
  [
    ...parked.map(line),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${counted(parked.length + more)} parked, ${owed} waiting or under way`,
  ].join('\n')

const line = ({ id, name, projectId, attempts, parkedAt, error }: Parked): string =>
  `${id}  ${name}  project ${projectId ?? '-'}  ${attempts} attempts  since ${parkedAt}\n  ${error ?? ''}`

const counted = (count: number): string => `${count} ${count === 1 ? 'job' : 'jobs'}`
