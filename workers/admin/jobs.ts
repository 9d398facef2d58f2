import { dropParked, listParked, type Parked, retryParked } from '../parked.ts'
import { counted, type Errand, type Topic, Wrong } from './topic.ts'

export const jobs: Topic = {
  list: { takes: '', does: 'jobs that failed too often, and how many are owed', run: list },
  retry: {
    takes: '<id|all>',
    does: 'ask for parked jobs again',
    run: async ({ sql }, which) => `${await changed(retryParked, sql, which!)} asked for again`,
  },
  drop: {
    takes: '<id|all>',
    does: 'give parked jobs up',
    run: async ({ sql }, which) => `${await changed(dropParked, sql, which!)} dropped`,
  },
}

async function list({ sql }: Errand): Promise<string> {
  const { parked, more, owed } = await listParked(sql)
  return [
    ...parked.map(line),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${counted(parked.length + more, 'job')} parked, ${owed} waiting or under way`,
  ].join('\n')
}

async function changed(change: typeof retryParked, sql: Errand['sql'], which: string): Promise<string> {
  const count = await change(sql, which)
  if (count === 0 && which !== 'all') throw new Wrong(`No parked job has the id ${which}`)
  return counted(count, 'job')
}

const line = ({ id, name, projectId, attempts, parkedAt, error }: Parked): string =>
  `${id}  ${name}  project ${projectId ?? '-'}  ${attempts} attempts  since ${parkedAt}\n  ${error ?? ''}`
