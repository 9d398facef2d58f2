import { until } from '../../src/local/wait.ts'
import type { Fault, Scene } from './faults.ts'
import { leaseTtlMs } from './stand.ts'

const workTimeoutMs = 60_000

const webKilled: Fault = async ({ stand, random, web, strike }) => {
  strike()
  await stand.webs[web]!.kill()
  await Bun.sleep(random.between(0, 400))
  await stand.webs[web]!.start()
}

const webStopped: Fault = async ({ stand, web, strike }) => {
  strike()
  await stand.webs[web]!.stop()
  await stand.webs[web]!.start()
}

/** Longer than its leases live: it wakes up believing that it still holds them. */
const webFrozen: Fault = async ({ stand, random, web, probe, strike, note }) => {
  strike()
  stand.webs[web]!.signal('SIGSTOP')
  const thaw = Bun.sleep(random.between(1.3, 3) * leaseTtlMs)
  note('taken over from the frozen', await probe.takeOver(web, (web + 1) % stand.webs.length))
  await thaw
  stand.webs[web]!.signal('SIGCONT')
}

const workerKilled: Fault = (scene) =>
  untilWorkIsDone(scene, async ({ stand, random, strike }) => {
    strike()
    await stand.worker.kill()
    await Bun.sleep(random.between(0, 400))
    await stand.worker.start()
  })

const workerFrozen: Fault = (scene) =>
  untilWorkIsDone(scene, async ({ stand, random, strike }) => {
    strike()
    stand.worker.signal('SIGSTOP')
    // At times longer than a job's lock lives, so that the job is given to somebody else.
    await Bun.sleep(random.chance(0.2) ? 16_000 : random.between(500, 3_000))
    stand.worker.signal('SIGCONT')
  })

/** Notes when what was owed at the time of the fault had been done. */
async function untilWorkIsDone(scene: Scene, fault: Fault): Promise<void> {
  const { postgres } = scene.stand
  const outbox = postgres.ask((sql) => sql<{ id: string }[]>`select id from outbox`)
  const ids = (await outbox.catch(() => [])).map(({ id }) => id).join()
  await fault(scene)
  const healed = performance.now()
  const left = () =>
    postgres.ask((sql) => sql`select 1 from outbox where id::text = any(string_to_array(${ids}, ','))`)
  const ask = () =>
    left().then(
      ({ length }) => (length === 0 ? true : undefined),
      () => undefined,
    )
  // Not waited for: the next fault may strike in the middle of it.
  void until(ask, workTimeoutMs, { everyMs: 100 }).then((done) =>
    note(scene, done ? performance.now() - healed : undefined),
  )
}

const note = ({ note: write }: Scene, ms: number | undefined) => write('work owed before was done', ms)

export const strikeProcesses = {
  'web killed': webKilled,
  'web stopped and started': webStopped,
  'web frozen': webFrozen,
  'worker killed': workerKilled,
  'worker frozen': workerFrozen,
}
