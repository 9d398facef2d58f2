import type { OutboxRow } from '../../drizzle/rows.ts'
import { withUnit, type AdminContext, type CommandGroup, AdminError } from './command-group.ts'

const maxListed = 1_000

export const jobs: CommandGroup = {
  list: ['', 'jobs that failed too often, and how many are owed', list],
  retry: [
    '<id|all>',
    'ask for parked jobs again',
    (context, which) => change(context, which!, 'asked for again'),
  ],
  drop: ['<id|all>', 'give parked jobs up', (context, which) => change(context, which!, 'dropped')],
}

async function list({ sql }: AdminContext): Promise<string> {
  const parked = await sql<OutboxRow[]>`
    select id, name, project_id, attempts, error, parked_at from outbox
    where parked_at is not null order by parked_at, id limit ${maxListed}`
  const [count] = await sql<{ parked: number; owed: number }[]>`
    select count(parked_at)::int4 as parked, (count(*) - count(parked_at))::int4 as owed from outbox`
  const more = count!.parked - parked.length
  return [
    ...parked.map(line),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${withUnit(count!.parked, 'job')} parked, ${count!.owed} waiting or under way`,
  ].join('\n')
}

/** The sweep of any worker hands over the jobs that are asked for again. */
async function change({ sql }: AdminContext, which: string, what: 'asked for again' | 'dropped'): Promise<string> {
  const isParked = sql`parked_at is not null and (${which === 'all'} or id::text = ${which.toLowerCase()})`
  const { count } = await (what === 'dropped'
    ? sql`delete from outbox where ${isParked}`
    : sql`update outbox set attempts = 0, error = null, parked_at = null where ${isParked}`)
  if (count === 0 && which !== 'all') throw new AdminError(`No parked job has the id ${which}`)
  return `${withUnit(count, 'job')} ${what}`
}

const line = ({ id, name, projectId, attempts, parkedAt, error }: OutboxRow): string =>
  `${id}  ${name}  project ${projectId ?? '-'}  ${attempts} attempts  since ${parkedAt}\n  ${error ?? ''}`
