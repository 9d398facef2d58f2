import type { Fault } from './faults.ts'

const tornDown: Fault = async (means) => {
  const { stand, strike } = means
  strike()
  await stand.postgres.stopImmediately()
  await comesBack(means, 'postgres recovered its data', () => stand.postgres.start())
}

async function comesBack(
  { random, note }: Parameters<Fault>[0],
  what: string,
  back: () => Promise<unknown>,
): Promise<void> {
  await Bun.sleep(random.between(0, 500))
  const began = performance.now()
  await back()
  note(what, performance.now() - began)
}

const terminated: Fault = ({ stand, strike }) =>
  stand.postgres.ask(async (sql) => {
    await sql`select 1`
    strike()
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'docket'`
  })

/** A backend dies; Postgres then ends all the others, recovers from its log and goes on by itself. */
const crashed: Fault = ({ stand, strike }) =>
  stand.postgres.ask(async (sql) => {
    const [backend] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'docket' limit 1`
    strike()
    if (backend) process.kill(backend.pid, 'SIGKILL')
  })

/** To a standby that had all that was acknowledged. What was the primary never comes back. */
const failedOver: Fault = async (means) => {
  const { stand, strike } = means
  await stand.postgres.follow({ synchronous: true })
  strike()
  await stand.postgres.killPrimary()
  await comesBack(means, 'postgres promoted its standby', () => stand.postgres.promote())
}

export const strikePostgres = {
  'postgres torn down': tornDown,
  'postgres connections terminated': terminated,
  'postgres backend crashed': crashed,
  'postgres failed over': failedOver,
}
