import type { OutboxRow } from '../../drizzle/rows.ts'
import { withUnit, type AdminContext, type CommandGroup, AdminError } from './command-group.ts'

const maxListed = 1_000

export const jobs: CommandGroup = {
  list: ['', 'lists dead letters (jobs that failed too often) and counts pending jobs', list],
  retry: ['<id|all>', 'runs dead letters again', (context, id) => change(context, id!, 'will be retried')],
  drop: ['<id|all>', 'deletes dead letters', (context, id) => change(context, id!, 'dropped')],
}

async function list({ sql }: AdminContext): Promise<string> {
  const parked = await sql<OutboxRow[]>`
    select id, name, project_id, attempts, error, parked_at from outbox
    where parked_at is not null order by parked_at, id limit ${maxListed}`
  const [count] = await sql<{ parked: number; open: number }[]>`
    select count(parked_at)::int4 as parked, (count(*) - count(parked_at))::int4 as open from outbox`
  const more = count!.parked - parked.length
  return [
    ...parked.map(line),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${withUnit(count!.parked, 'dead letter')}, ${withUnit(count!.open, 'job')} waiting or running`,
  ].join('\n')
}

async function change(
  { sql }: AdminContext,
  which: string,
  outcome: 'will be retried' | 'dropped',
): Promise<string> {
  const isParked = sql`parked_at is not null and (${which === 'all'} or id::text = ${which.toLowerCase()})`
  const { count } = await (outcome === 'dropped'
    ? sql`delete from outbox where ${isParked}`
    : sql`update outbox set attempts = 0, error = null, parked_at = null where ${isParked}`)
  if (count === 0 && which !== 'all') throw new AdminError(`No dead letter has the id ${which}`)
  return `${withUnit(count, 'job')} ${outcome}`
}

const line = ({ id, name, projectId, attempts, parkedAt, error }: OutboxRow): string =>
  `${id}  ${name}  project ${projectId ?? '-'}  ${attempts} attempts  since ${parkedAt}\n  ${error ?? ''}`
