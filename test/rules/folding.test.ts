import fc from 'fast-check'
import type { StoredEvent } from '../../src/model/events.ts'
import { cases, eventually, faultsByProject, forFile, openTestService } from '../kit.ts'
import { model, type Person, register, upTo, words } from '../kit.ts'
import { react } from '../../workers/reactions.ts'
import { checkRows } from '../faults/check-run.ts'
import type { LogEvent, Row } from '../faults/evidence.ts'
import { assertInTime, requestWaves, runWaves } from './random-requests.ts'
import { type Step, type Verb, verbs } from './verbs.ts'
import { readRows } from '../support/stored-rows.ts'
import { faultsOfAll, forgetAll, readEvents, readStreams } from './states.ts'

/** The event types that callers can cause, except those of integrations. */
const ofOthers = /^((webhook|service_account|token)\.|task\.(unassigned|claim_expired|reminded|due|ready)$)/
const everyEventType = model.eventTypes.filter((type) => !ofOthers.test(type))

const seenTypes = new Set<string>()

const service = await forFile(openTestService({ LEASE_SLICE_MS: '0' }))
const { client: there } = await forFile(openTestService(service.env))
const here = await Promise.all(['Ada', 'Bea', 'Cyd', 'Dan'].map((name) => register(service.client, name)))
const people: Person[][] = [here, here.map(({ id, email, token }) => ({ ...there.as(token), id, email }))]
const sql = service.services.database.reads

async function runRequests(waves: Step[][]): Promise<StoredEvent[]> {
  await forgetAll(sql)
  await runWaves(waves, people)
  const events = await readEvents(sql)
  for (const { type } of events) seenTypes.add(type)
  return events
}

/** Deletions come last: first of children, then of tasks, then of projects. */
const endings = [/^(delete|remove)/, /^delete(Task|Project)/, /^deleteProject/]
const rankOf = (verb: Verb) => endings.filter((ending) => ending.test(verb)).length
const inOrder = (Object.keys(verbs) as Verb[]).toSorted((a, b) => rankOf(a) - rankOf(b))
const everyVerb = (shift: number): [Step[][]] => [
  inOrder.map((verb, n) => [{ verb, who: 0, process: 0, pick: 0, other: 1, value: n + shift }]),
]

test('folding the log gives the stored rows, for all projects together and for each project separately', async () => {
  const property = fc.asyncProperty(requestWaves(30), async (waves) => {
    await runRequests(waves)
    expect(await faultsOfAll(sql)).toEqual([])
  })
  await assertInTime(property, { numRuns: cases(8), withinMs: 40_000, examples: upTo(4).map(everyVerb) })
  expect([...seenTypes].sort()).toEqual([...everyEventType].sort())
})

test('the outbox has exactly the jobs that the committed events cause', async () => {
  const property = fc.asyncProperty(requestWaves(20), async (waves) => {
    const expected = (await runRequests(waves)).flatMap((event) =>
      react(event).map(({ name, data }) => ({ projectId: event.projectId, name, data })),
    )
    const owed = await sql<typeof expected>`select project_id, name, data from outbox order by id`
    expect(owed.map((row) => ({ ...row }))).toEqual(expected)
  })
  await fc.assert(property, { numRuns: cases(4) })
})

/**
 * These steps leave jobs for the workers. They move a task out of a project and delete the project, delete a task, and
 * remove a member who is the assignee of a task. Each word has a verb, the row and another row.
 */
const leaving =
  words(`addSubtask:0 addComment:0 createTask:0 addSubtask:1 addComment:1 moveTask:1:1 toggleSubtask:1
  deleteComment:1 invite:1:1 assignTask:1:2 createTask:1 addComment:2 deleteTask:2 removeMember:1 deleteProject:0`)
const leavingSteps = leaving.map((word): Step[] => {
  const [verb, pick, other = 1] = word.split(':')
  return [{ verb: verb as Verb, who: 0, process: 0, pick: Number(pick), other: Number(other), value: 1 }]
})

test('after the workers have purged rows, folding the log still gives the remaining rows', async () => {
  // Releases that logged moves without the children did not have undo.
  const waves = fc.sample(requestWaves(60), { numRuns: 3 }).flat()
  await runRequests(waves.map((wave) => wave.filter(({ verb }) => verb !== 'undo')))
  await runWaves(leavingSteps, people)
  const before = await readEvents(sql)
  service.startWorkers()
  await eventually('the end of all jobs', async () => (await sql`select from outbox`).length === 0)

  // Workers delete the log of a deleted project, so `before` supplies earlier events of its moved tasks.
  const events = await readEvents(sql)
  const earlierIds = new Set(before.map(({ id }) => id))
  const since = events.filter(({ id }) => !earlierIds.has(id))
  const all = [...before, ...since] as unknown as LogEvent[]
  const rows = await readRows<Row>(sql)
  const projectsWithEvents = events.map(({ projectId }) => projectId)
  expect(checkRows({ events: all, rows, streams: await readStreams(sql), projectsWithEvents })).toEqual([])
  expect(faultsByProject({ events, rows })).toEqual([])
  expect(since.length).toBeGreaterThan(0)
  expect(since.every(({ type }) => type === 'task.unassigned' || type === 'task.released')).toBe(true)
})
