import { openTestService, openWebs } from '../kit.ts'
import { checkRun } from '../faults/check-run.ts'
import { createArchive, readEvidence } from '../faults/evidence.ts'
import { proofOf, violationsOf } from '../faults/history.ts'
import { populate, startLoad } from '../faults/load.ts'
import { Random } from '../faults/random.ts'
import { openRecorder } from '../faults/recorder.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'

type Env = Record<string, string>

/** For tests that send random requests, whose time depends on the other tests. */
export const timeoutMs = 400_000
const maxOperations = 400

/**
 * Starts web processes with these settings, sends random requests to all of them at the same time, and returns what the log
 * of the projects does not explain: lost or repeated writes, old responses, and requests that failed.
 * @param meanwhile runs during the requests
 */
export async function errorsAt(each: Env[], shared: Env, meanwhile = async () => {}): Promise<string[]> {
  // Requests must not time out while other tests use the processor.
  const patient = { WRITE_TIMEOUT_MS: '60000', RATE_LIMIT: 'off' }
  const { webs, env, sql } = await openWebs(each, { ...patient, ...shared })
  await createArchive(sql)
  await using worker = await openTestService(env)
  worker.startWorkers()
  const random = new Random(1)
  const urls = webs.map(({ url }) => url)
  const recorder = openRecorder(urls, random)
  const load = await populate(recorder, urls[0]!, random, { users: 6, projects: 3 })
  const running = startLoad(load, { clients: 16, perSecond: 2_000, maxOperations })
  await meanwhile()
  await running.ended
  await untilOutboxEmpty(sql)
  const { violations } = checkRun(recorder.operations, await readEvidence(env))
  const failures = recorder.operations.flatMap((one) => one.failures)
  const failed = failures
    .filter(({ status, reason }) => status !== 429 && reason !== 'TimeoutError')
    .map((one) => JSON.stringify(one))
  expect(proofOf(recorder.operations).isEnough).toBe(true)
  return [
    ...violations,
    ...violationsOf('every response is documented', recorder.invalidResponses),
    ...violationsOf('every request succeeds', failed),
  ].map(({ check, detail }) => `${check}: ${detail}`)
}
