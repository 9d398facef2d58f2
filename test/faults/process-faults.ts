import { leaseTtlMs } from './deployment.ts'
import type { Fault } from './faults.ts'

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

/** Freezes the process until its leases have expired. */
const webFrozen: Fault = async ({ deployment, random, web, probe, start }) => {
  start()
  await deployment.webs[web]!.signal('SIGSTOP')
  const thaw = Bun.sleep(random.between(1.3, 3) * leaseTtlMs)
  await probe.takeOver(web, (web + 1) % deployment.webs.length)
  await thaw
  await deployment.webs[web]!.signal('SIGCONT')
}

const workerKilled: Fault = async ({ deployment, random, start }) => {
  start()
  await deployment.worker.kill()
  await Bun.sleep(random.between(0, 400))
  await deployment.worker.start()
}

const workerFrozen: Fault = async ({ deployment, random, start }) => {
  start()
  await deployment.worker.signal('SIGSTOP')
  // The lock of a job expires within 16 s, so that BullMQ gives the job to another worker.
  await Bun.sleep(random.chance(0.2) ? 16_000 : random.between(500, 3_000))
  await deployment.worker.signal('SIGCONT')
}

export const processFaults = {
  'web killed': webKilled,
  'web stopped and started': webStopped,
  'web frozen': webFrozen,
  'worker killed': workerKilled,
  'worker frozen': workerFrozen,
}
