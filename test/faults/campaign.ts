import { until } from '../../src/local/server.ts'
import { make } from '../support/client.ts'
import { checkRun, type Verdict } from './check-run.ts'
import { openConsumers } from './consumers.ts'
import { type Deployment, openDeployment } from './deployment.ts'
import { readEvidence } from './evidence.ts'
import { failuresOf, type FaultName, inject } from './faults.ts'
import { type Operation, outcomeOf, proofOf, type Violation, violationsOf } from './history.ts'
import { type Load, type LoadSize, populate, startLoad } from './load.ts'
import { Random } from './random.ts'
import { openRecorder } from './recorder.ts'

const drainTimeoutMs = 60_000
const recoveryTimeoutMs = 30_000
const successesInARow = 5

export interface Campaign {
  seed: number
  seconds: number
  webs: number
  /** The faults of one inner list are injected at the same time. The campaign ends after the last list. */
  faults: (random: Random) => Iterable<FaultName[]>
  pauseMs: [min: number, max: number]
  users: number
  projects: number
  load: LoadSize
  log(line: string): void
}

export interface Result extends Verdict {
  operations: Operation[]
  errorLogs: string[]
}

/** @param closers Receives the functions that stop all processes, even if the campaign throws. */
export async function run(campaign: Campaign, closers: (() => Promise<unknown>)[]): Promise<Result> {
  const { seed, log } = campaign
  const deployment = await openDeployment(closers, campaign)
  const { webs, worker, env } = deployment
  const urls = webs.map(({ url }) => url)
  log(`web processes at ${urls.join(' and ')}, seed ${seed}`)
  const random = new Random(seed)
  const recorder = openRecorder(urls, random)
  const load = await populate(recorder, urls[0]!, random, campaign)
  const followed = load.permanent.map(({ id, ownerId }) => ({
    ...{ id, owner: load.people.find((one) => one.id === ownerId)! },
  }))
  const consumers = await openConsumers(deployment, followed)
  const probe = await openProbe(load, webs.length)
  const running = startLoad(load, campaign.load)
  const violations: Violation[] = []
  const deadline = performance.now() + campaign.seconds * 1_000
  for (const names of campaign.faults(random)) {
    await Bun.sleep(random.between(...campaign.pauseMs))
    if (performance.now() >= deadline) break
    violations.push(...(await injectAll(names, { deployment, probe, load, log })))
    await consumers.retry()
  }
  await running.stop()
  violations.push(...(await consumers.finish()), ...(await stopAll(deployment)))
  const { operations, invalidResponses } = recorder
  const verdict = checkRun(operations, await readEvidence(env))
  return {
    ...{ operations, resolved: verdict.resolved },
    errorLogs: [...webs, worker].flatMap((process) => process.errors()),
    violations: [
      ...[...violations, ...verdict.violations],
      ...violationsOf('every response is documented', invalidResponses),
    ],
  }
}

type Probe = Awaited<ReturnType<typeof openProbe>>

/** Opens a project and a task for each web process, which only this process writes. */
async function openProbe({ recorder, people }: Load, webs: number) {
  const clientAt = (web: number) => recorder.clientOf(people[0]!, { web })
  const open = async (_: unknown, web: number) => {
    const { id: projectId } = await make(clientAt(web), '/projects', { name: 'Probed' })
    return (await make(clientAt(web), '/tasks', { projectId, title: 'Probed' })).id
  }
  const tasks = await Promise.all(Array.from({ length: webs }, open))
  let writes = 0
  const write = (task: number, web: number) =>
    clientAt(web).patch(`/tasks/${tasks[task]}`, { title: `Probed ${++writes}` })
  return {
    write,
    async answers(web: number): Promise<boolean> {
      const answers = [await write(web, web), await clientAt(web).get(`/tasks/${tasks[web]}`)]
      return answers.every(({ status }) => status === 200)
    },
  }
}

interface Scene {
  deployment: Deployment
  probe: Probe
  load: Load
  log: Campaign['log']
}

/** Injects faults and waits until every web process answers several requests in a row. */
async function injectAll(names: FaultName[], { deployment, probe, load, log }: Scene): Promise<Violation[]> {
  const { random, recorder } = load
  const n = random.below(deployment.webs.length)
  const other = (n + 1) % deployment.webs.length
  const web = deployment.webs[n]!
  const context = { ...deployment, random, web, takeOver: () => probe.write(n, other) }
  const began = performance.now()
  await Promise.all(names.map((name) => inject(name, context)))
  let row = 0
  const isRecovered = async () => {
    const answers = await Promise.all(deployment.webs.map((_, one) => probe.answers(one)))
    row = answers.every(Boolean) ? row + 1 : 0
    return row === successesInARow || undefined
  }
  const fault = names.join(' + ')
  const recovered = await until(isRecovered, recoveryTimeoutMs, { everyMs: 20 })
  const ended = performance.now()
  const failed = recorder.operations
    .flatMap(({ failures }) => failures)
    .filter(
      ({ start, end, status, reason }) =>
        start <= ended && end >= began && status !== 429 && reason !== 'TimeoutError',
    )
  log(`${fault}: recovered after ${Math.round(ended - began)} ms, ${failed.length} failed attempts`)
  const kinds = names.map(failuresOf)
  const mayFail = ({ web, status }: (typeof failed)[number]) =>
    kinds.includes('any') || (kinds.includes('port') && status === 0 && web === n)
  const wrong = failed.filter((failure) => !mayFail(failure)).map((failure) => JSON.stringify(failure))
  return [
    ...violationsOf(`no request fails because of: ${fault}`, wrong),
    ...violationsOf('recovery', recovered ? [] : [`no full recovery within 30 s after: ${fault}`]),
  ]
}

async function stopAll({ webs, worker, postgres }: Deployment): Promise<Violation[]> {
  const inTime = await Promise.all(webs.map((process) => process.stop()))
  const isDrained = async () => {
    const jobs = await postgres.query((sql) => sql`select from outbox`)
    return jobs.length === 0 || undefined
  }
  await until(isDrained, drainTimeoutMs, { everyMs: 100 })
  inTime.push(await worker.stop())
  return violationsOf(
    'a process stops on SIGTERM',
    inTime.flatMap((isStopped, n) => (isStopped ? [] : [`process ${n} had to be killed`])),
  )
}

const maxDetails = 8

export function report({ operations, resolved, violations, errorLogs }: Result): string {
  const outcomes = Object.groupBy(operations, outcomeOf)
  const count = (outcome: 'done' | 'rejected' | 'unknown') => outcomes[outcome]?.length ?? 0
  const lines = [...Map.groupBy(violations, ({ check }) => check)].flatMap(([check, all]) => {
    const more = all.length > maxDetails ? [`  … and ${all.length - maxDetails} more`] : []
    const details = all.slice(0, maxDetails).map(({ detail }) => `  ${detail.slice(0, 500)}`)
    return ['', `VIOLATED: ${check} (${all.length})`, ...details, ...more]
  })
  return [
    `${operations.length} operations: ${count('done')} done, ${count('rejected')} rejected, ${count('unknown')} unknown`,
    `unknown writes: ${resolved.applied} took effect, ${resolved.notApplied} did not, ${resolved.late} after a retry was rejected`,
    ...(errorLogs.length > 0 ? [`${errorLogs.length} lines were logged: ${errorLogs.at(-1)}`] : []),
    ...[...lines, '', `${violations.length} violations`, proofOf(operations).line],
  ].join('\n')
}
