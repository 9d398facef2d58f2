import type { Fault } from './faults.ts'

const tornDown: Fault = async ({ stand, random, strike, note }) => {
  strike()
  await stand.postgres.stopImmediately()
  await Bun.sleep(random.between(0, 500))
  const began = performance.now()
  await stand.postgres.start()
  note('postgres recovered its data', performance.now() - began)
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
const failedOver: Fault = async ({ stand, random, strike, note }) => {
  await stand.postgres.follow({ synchronous: true })
  strike()
  await stand.postgres.killPrimary()
  await Bun.sleep(random.between(0, 500))
  const began = performance.now()
  await stand.postgres.promote()
  note('postgres promoted its standby', performance.now() - began)
}

export const strikePostgres = {
  'postgres torn down': tornDown,
  'postgres connections terminated': terminated,
  'postgres backend crashed': crashed,
  'postgres failed over': failedOver,
}
