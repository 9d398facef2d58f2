import { afterEach, expect, test } from 'bun:test'
import { eventsAt, openStretches, type Place, type Stretch } from '../../modules/events/pages.ts'
import { shownEvent } from '../../modules/events/views.ts'
import { make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
afterEach(() => service.close())

const long = 'x'.repeat(20_000)

/** A project of so many tasks, and what is asked of its events. */
async function place(
  ada: Person,
  tasks: number,
  over: Partial<Place> = {},
  description = '',
): Promise<Place> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  for (let n = 0; n < tasks; n++) await make(ada, '/tasks', { title: `T${n}`, description, projectId })
  return { projectId, after: 0, version: tasks + 1, limit: 100, types: null, ...over }
}

test('who asks beside others is read what it would be alone', async () => {
  service = await openTestService()
  const ada = await register(service.client)
  const places = [
    await place(ada, 9),
    await place(ada, 9, { limit: 3 }),
    await place(ada, 9, { after: 4, version: 7 }),
    await place(ada, 9, { types: ['project.created', 'task.updated'] }),
    await place(ada, 9, { types: ['task.created'], limit: 2 }),
    await place(ada, 9, { types: ['comment.created'] }),
    await place(ada, 9, { after: 10 }),
    await place(ada, 70, {}, long), // more than a page holds
    await place(ada, 9, { after: 2 }),
    await place(ada, 9, { after: 4 }),
  ]
  const [, some, middle, , , , , , ...gone] = places
  const sql = service.services.database.chores
  await sql`delete from events where project_id = any(${gone.map(({ projectId }) => projectId)}::uuid[]) and seq < 5`
  const told = async (reads: Promise<Stretch>[]) =>
    (await Promise.allSettled(reads)).map((one) =>
      one.status === 'fulfilled' ? shown(one.value) : reasonOf(one),
    )
  const alone = await told(
    places.map((one) => eventsAt(service.services.database.reads, service.services.oldestKept, one)),
  )
  const stretchAt = openStretches(service.services)
  const values = await told([...places, some!, middle!].map((one) => stretchAt(one)))
  expect(values).toEqual([...alone, alone[1]!, alone[2]!])
  expect(values.slice(0, 3)).toMatchObject([
    { upTo: 10, seqs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
    { upTo: 3, seqs: [1, 2, 3] },
    { upTo: 7, seqs: [5, 6, 7] },
  ])
  expect((values[7] as { upTo: number }).upTo).toBeLessThan(71)
  expect(values[8]).toBe('Events before 5 are no longer kept')
})

const reasonOf = ({ reason }: PromiseRejectedResult) => (reason as Error).message
const shown = ({ events, upTo }: Stretch) => ({
  upTo,
  seqs: events.map(({ seq }) => seq),
  texts: events.map((event) => shownEvent(event)),
})
