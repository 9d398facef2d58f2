import fc from 'fast-check'
import { maxMoved } from '../../src/log/children.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { fold, emptyContents } from '../support/fold.ts'
import { readDeletedChildren } from '../../src/log/logged-children.ts'
import { type Body, cases, make, openScene } from '../kit.ts'
import { readEvents } from '../rules/history.ts'
import { runWaves, requestWaves } from '../rules/random-requests.ts'
import { forgetAll } from '../rules/states.ts'

const { service, ada, bea, cyd, dan } = await openScene(['Ada', 'Bea', 'Cyd', 'Dan'])
const people = [ada, bea, cyd, dan]
const sql = service.services.database.reads

function hangingBefore(history: StoredEvent[]) {
  const contents = emptyContents()
  return history.map((event) => {
    const { taskId } = event as StoredEvent & { taskId: string | null }
    const of = <R extends { taskId: string; id: string }>(rows: Map<string, R>) =>
      [...rows.values()].filter((row) => row.taskId === taskId).sort((a, b) => (a.id < b.id ? -1 : 1))
    const isHere = taskId !== null && contents.task.has(taskId)
    const children = { subtask: of(contents.subtask), comment: of(contents.comment) }
    fold(contents, event)
    return { event, taskId: isHere ? taskId : null, children }
  })
}

test('reads the children that a task had at any time from events, also after a move or a deletion', async () => {
  let compared = 0
  const property = fc.asyncProperty(requestWaves(30), async (waves) => {
    await forgetAll(sql)
    await runWaves(waves, [people, people])
    const events = (await readEvents(sql)).toSorted((a, b) => a.seq - b.seq)
    for (const history of Map.groupBy(events, ({ projectId }) => projectId).values()) {
      for (const { event, taskId, children } of hangingBefore(history)) {
        if (!taskId) continue
        expect(await readDeletedChildren(sql, [{ ...event, entityId: taskId }])).toEqual(
          new Map([[event.seq, children]]),
        )
        compared++
      }
    }
  })
  await fc.assert(property, { numRuns: cases(8) })
  expect(compared).toBeGreaterThan(3)
})

const latest = 'ffffffff-ffff-7fff-bfff-ffffffffffff'

test('rejects an undo that restores too many children with 409, and reports missing events as expired', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const { id: taskId }: Body = await make(ada, '/tasks', { title: 'T', projectId })
  const said = await make(ada, `/tasks/${taskId}/comments`, { text: 'Words' })
  const deletion = { projectId, entityId: taskId, id: latest, seq: 1 }
  const ask = async () => {
    const found = await readDeletedChildren(sql, [deletion])
    return found === 'expired' ? found : found.get(1)!
  }
  expect(await ask()).toMatchObject({ subtask: [], comment: [{ id: said.id }] })
  const add = (rows: number, text: string) => sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after, task_id)
    select ${projectId}, n + 1000, uuidv7(), 'comment.created', 'comment', id, ${ada.id}, now(),
      jsonb_build_object('id', id, 'taskId', ${taskId}::text, 'text', ${text}::text), ${taskId}
    from (select n, uuidv7() as id from generate_series(1, ${rows}::int4) n) c`
  await add(maxMoved.rows - 1, 'Words')
  expect(await ask()).toMatchObject({ comment: { length: maxMoved.rows } })
  await sql`delete from events where task_id = ${taskId} and seq > 1000`
  await add(maxMoved.rows + 1, 'Words')
  await expect(ask()).rejects.toThrow('too large')
  await sql`delete from events where task_id = ${taskId} and seq > 1000`
  await add(400, 'x'.repeat(20_000))
  await expect(ask()).rejects.toThrow('too large')
  await sql`delete from events where task_id = ${taskId} and entity = 'task'`
  expect(await ask()).toBe('expired')
})
