import { expect, test } from 'bun:test'
import { openFindLanded } from '../../src/actor/landed.ts'
import { newId } from '../../src/ids.ts'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService())

test('a command is found wherever its first event is in the log, which is read in pages', async () => {
  const { chores: sql } = service.services.database
  const [projectId, ids] = [newId(), Array.from({ length: 2_100 }, () => newId())]
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at)
    select ${projectId}, seq, id, 'task.updated', 'task', id, id, now()
    from unnest(${ids}::uuid[]) with ordinality e(id, seq)`
  const found = await openFindLanded(sql)(projectId, ids.length, ids)
  expect(ids.filter((id) => found.get(id)?.id !== id)).toEqual([])
  expect(found.size).toBe(ids.length)
})
