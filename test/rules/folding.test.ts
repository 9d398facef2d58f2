import { readFileSync } from 'node:fs'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { StoredEvent } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import { createApp } from '../../src/app.ts'
import { until } from '../../src/local/wait.ts'
import { openServices } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { react } from '../../workers/reactions.ts'
import { openClient, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { checkRows } from '../faults/check-rows.ts'
import type { LogEvent, Row } from '../faults/evidence.ts'
import { faultsByProject, faultsIn } from '../support/history.ts'
import { readEvents, readStreams } from './history.ts'
import { assertInTime } from './in-time.ts'
import { live, lives } from './random-life.ts'
import { leaveWork } from './unfinished-work.ts'
import type { Step } from './verbs.ts'
import { cases } from '../support/depth.ts'
import { readRows } from '../support/stored-rows.ts'
import { forgetAll } from './states.ts'

/** Lives that are tried beyond the property's own, until every event type was seen. */
const mostMoreLives = 200
/** All that callers can bring about, but for integrations: the compiler holds the list to the modules' own. */
type Integration = 'webhook' | 'service_account' | 'token'
const everyFact: Record<Exclude<EventType, 'task.unassigned' | `${Integration}.${string}`>, true> = {
  ...{ 'project.created': true, 'project.updated': true, 'project.deleted': true },
  ...{ 'member.invited': true, 'member.role_set': true, 'member.removed': true },
  ...{ 'task.created': true, 'task.updated': true, 'task.deleted': true },
  ...{ 'task.moved_in': true, 'task.moved_out': true },
  ...{ 'subtask.created': true, 'subtask.updated': true, 'subtask.toggled': true, 'subtask.deleted': true },
  ...{ 'comment.created': true, 'comment.updated': true, 'comment.deleted': true },
}

const movedWithAll = readFileSync(
  new URL('../../drizzle/migrations/0009_moved_with_all.sql', import.meta.url),
  'utf8',
)
const seen = new Set<string>()

const service = await forFile(openTestService({ LEASE_SLICE_MS: '0' }))
const { config, log } = service.services
// This one has only the statement that fits every commit.
const second = await forFile(openServices({ ...config, commitShapes: 0 }, log, { commands, react }))
const app = createApp(second)
const there = openClient('http://localhost', undefined, (request) => app.fetch(request))
const here = await Promise.all(['Ada', 'Bea', 'Cyd', 'Dan'].map((name) => register(service.client, name)))
const people: Person[][] = [here, here.map(({ id, email, token }) => ({ ...there.as(token), id, email }))]

const sql = () => service.services.database.reads

async function lived(waves: Step[][]): Promise<StoredEvent[]> {
  await forgetAll(sql())
  await live(waves, people)
  const events = await readEvents(sql())
  for (const { type } of events) seen.add(type)
  return events
}

async function holds(waves: Step[][]): Promise<void> {
  const [events, rows] = [await lived(waves), await readRows(sql())]
  expect(faultsIn({ events, rows, streams: await readStreams(sql()) }, true)).toEqual([])
}

test('whatever happens, folding the history gives the stored rows, and so does that of each project alone', async () => {
  // A failure prints its seed and path: pass them to fc.assert to repeat it.
  await assertInTime(fc.asyncProperty(lives(30), holds), { numRuns: cases(12), withinMs: 40_000 })
  const all = Object.keys(everyFact).sort()
  for (let more = 0; seen.size < all.length && more < mostMoreLives; more++)
    for (const waves of fc.sample(lives(30), 1)) await holds(waves)
  expect([...seen].sort()).toEqual(all)
})

/** Where moves did not say it all there was no undo either. */
const withoutUndo = (wave: Step[]) => wave.filter(({ verb }) => verb !== 'undo')

/** Takes from the history what moves did not say once. Answers how many those are. */
const movedAsBefore = async () => {
  const { count } = await sql()`
    update events set after = after - 'subtasks' - 'comments' where type = 'task.moved_in'`
  return count
}

test('moves of tasks from before they said what came along are told it', async () => {
  const property = fc.asyncProperty(lives(30), async (waves) => {
    const events = await lived(waves.map(withoutUndo))
    await movedAsBefore()
    await sql().unsafe(movedWithAll)
    expect([...(await readEvents(sql()))]).toEqual([...events])
  })
  await fc.assert(property, { numRuns: cases(4) })
})

test('the outbox holds the jobs that the history asks for, and no others', async () => {
  const property = fc.asyncProperty(lives(20), async (waves) => {
    const asked = (await lived(waves)).flatMap((event) =>
      react(event).map(({ name, data }) => ({ projectId: event.projectId, name, data })),
    )
    const owed = await sql()<typeof asked>`select project_id, name, data from outbox order by id`
    expect(owed.map((row) => ({ ...row }))).toEqual(asked)
  })
  await fc.assert(property, { numRuns: cases(4) })
})

/** Leaves work after `waves`, and lets the workers do it. Returns the events from before they began. */
async function workAfter(waves: Step[][]): Promise<StoredEvent[]> {
  await lived(waves)
  const [ada, bea] = people[0] as [Person, Person]
  await leaveWork(ada, bea)
  const before = await readEvents(sql())
  service.startWorkers()
  const isDone = async () => ((await sql()`select from outbox`).length === 0 ? true : undefined)
  expect(await until(isDone, 40_000)).toBe(true)
  return before
}

test('when the workers are done, the history still gives the rows of what stands', async () => {
  const before = await workAfter(fc.sample(lives(60), { numRuns: 3 }).flat().map(withoutUndo))

  // With a deleted project goes its history, so what its tasks did before they moved away is taken from before.
  const known = new Set(before.map(({ id }) => id))
  const since = (await readEvents(sql())).filter(({ id }) => !known.has(id))
  const all = [...before, ...since] as unknown as LogEvent[]
  const [events, rows, streams] = [
    await readEvents(sql()),
    await readRows<Row>(sql()),
    await readStreams(sql()),
  ]
  const projectsWithEvents = events.map(({ projectId }) => projectId)
  expect(checkRows({ events: all, rows, streams, projectsWithEvents })).toEqual([])
  expect(faultsByProject({ events, rows })).toEqual([])
  expect(since.length).toBeGreaterThan(0)
  expect(since.every(({ type }) => type === 'task.unassigned')).toBe(true)
})

test('a migrated move out of a project whose log is deleted shows its subtasks and comments', async () => {
  await workAfter([])
  expect(await movedAsBefore()).toBeGreaterThan(0)
  await sql().unsafe(movedWithAll)
  const [events, rows] = [await readEvents(sql()), await readRows(sql())]
  expect(faultsByProject({ events, rows })).toEqual([])
})
