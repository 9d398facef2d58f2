import { until } from '../../src/local/wait.ts'
import { leaseTtlMs } from './deployment.ts'
import type { Fault } from './faults.ts'

const jobTimeoutMs = 60_000

const webKilled: Fault = async ({ deployment, random, web, start }) => {
  start()
  await deployment.webs[web]!.kill()
  await Bun.sleep(random.between(0, 400))
  await deployment.webs[web]!.start()
}

const webStopped: Fault = async ({ deployment, web, start }) => {
  start()
  await deployment.webs[web]!.stop()
  await deployment.webs[web]!.start()
}

/** Frozen for longer than its leases last: after SIGCONT the process still takes them for its own. */
const webFrozen: Fault = async ({ deployment, random, web, probe, start, measure }) => {
  start()
  deployment.webs[web]!.signal('SIGSTOP')
  const thaw = Bun.sleep(random.between(1.3, 3) * leaseTtlMs)
  measure('takeover from a frozen process', await probe.takeOver(web, (web + 1) % deployment.webs.length))
  await thaw
  deployment.webs[web]!.signal('SIGCONT')
}

/** Also measures how long the worker takes to finish the jobs that were pending at the time of the fault. */
const measuringJobs =
  (fault: Fault): Fault =>
  async (context) => {
    const { postgres } = context.deployment
    const outbox = postgres.query((sql) => sql<{ id: string }[]>`select id from outbox`)
    const ids = (await outbox.catch(() => [])).map(({ id }) => id).join()
    await fault(context)
    const repaired = performance.now()
    const isDone = async () => {
      const left = await postgres
        .query((sql) => sql`select 1 from outbox where id::text = any(string_to_array(${ids}, ','))`)
        .catch(() => undefined)
      return left?.length === 0 ? true : undefined
    }
    // Not awaited, so that the next fault may come before the jobs are done.
    void until(isDone, jobTimeoutMs, { everyMs: 100 }).then((done) =>
      context.measure('pending jobs finished', done ? performance.now() - repaired : undefined),
    )
  }

const workerKilled: Fault = async ({ deployment, random, start }) => {
  start()
  await deployment.worker.kill()
  await Bun.sleep(random.between(0, 400))
  await deployment.worker.start()
}

const workerFrozen: Fault = async ({ deployment, random, start }) => {
  start()
  deployment.worker.signal('SIGSTOP')
  // 16 s exceed the lock of a job, so that BullMQ gives the job to another worker.
  await Bun.sleep(random.chance(0.2) ? 16_000 : random.between(500, 3_000))
  deployment.worker.signal('SIGCONT')
}

export const processFaults = {
  'web killed': webKilled,
  'web stopped and started': webStopped,
  'web frozen': webFrozen,
  'worker killed': measuringJobs(workerKilled),
  'worker frozen': measuringJobs(workerFrozen),
}
