import { expect, test } from 'bun:test'
import { expireEvents } from '../../workers/expire-events.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { readCorpus, visibleDocs } from './random/corpus.ts'
import { expectHits, expectTasks } from './random/searches.ts'

const { ada, sql } = await openScene(['Ada'])

const expireAll = async () => {
  await sql`update events set at = now() - interval '31 days'`
  await expireEvents(sql, 30, { batchRows: 1_000, pauseMs: 0 })
}

async function expectComplete(...queries: string[]): Promise<void> {
  const docs = visibleDocs(await readCorpus(sql), ada.id)
  for (const q of queries) {
    await expectHits(ada, docs, q)
    await expectTasks(ada, docs, q)
  }
}

for (const isSearchedBefore of [true, false])
  test(`events that expire before they are indexed lose no change, with${isSearchedBefore ? '' : 'out'} an earlier search`, async () => {
    const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
    const [kept, changed, deleted] = [
      await make(ada, '/tasks', { projectId, title: 'Keep the plate' }),
      await make(ada, '/tasks', { projectId, title: 'Draw the plate' }),
      await make(ada, '/tasks', { projectId, title: 'Lose the plate' }),
    ]
    const comment = await make(ada, `/tasks/${kept.id}/comments`, { text: 'In brass' })
    if (isSearchedBefore) await expectComplete('plate', 'brass')
    await ada.patch(`/tasks/${changed.id}`, { title: 'Draw the wheel' })
    await ada.delete(`/tasks/${deleted.id}`)
    await ada.patch(`/tasks/comments/${comment.id}`, { text: 'In iron' })
    await make(ada, '/tasks', { projectId, title: 'Oil the wheel' })
    await expireAll()
    await expectComplete('plate', 'wheel', 'brass', 'iron', 'lose')
    await make(ada, '/tasks', { projectId, title: 'After the plate' })
    await expectComplete('plate', 'after')
  })

test('a search during the removal of events is complete', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  for (let n = 0; n < 5; n++) {
    const operations = Array.from({ length: 100 }, (_, i) => ({
      op: 'task.create',
      title: `Lever ${n} ${i}`,
    }))
    await ada.post(`/projects/${projectId}/batch`, { operations })
    await sql`update events set at = now() - interval '31 days'`
    await Promise.all([
      expireEvents(sql, 30, { batchRows: 7, pauseMs: 0 }),
      expectComplete('lever', `"lever ${n}"`),
    ])
  }
  expect((await ada.get(`/tasks?projectId=${projectId}`)).status).toBe(200)
})
