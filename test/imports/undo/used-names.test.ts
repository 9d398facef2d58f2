import { expect, test } from 'bun:test'
import { readUsedNames } from '../../../workers/imports/undo-events.ts'
import { upTo } from '../../races/pair.ts'
import { task } from '../run/items.ts'
import { openRunScene } from '../run/scene.ts'

const { newProject, importItems, services, sql } = await openRunScene()

test('finds the labels and fields that tasks use on every page of the tasks', async () => {
  const { owner, projectId } = await newProject()
  const tasks = upTo(5).map((n) =>
    task(String(n), { labels: [`label ${n}`, 'all'], fields: { [`field${n}`]: 'x', all: 'x' } }),
  )
  const { id: importId } = await importItems(owner, projectId, tasks)
  await sql`update tasks set label_ids = null, fields = null where project_id = ${projectId} and number in (2, 4)`
  const [first] = await sql<
    { seq: string }[]
  >`select min(seq) as seq from import_batches where import_id = ${importId}`
  const undo = { services, sql, importId, projectId, caller: { userId: owner.id } }
  for (const pageTasks of [1, 2, 3, 100]) {
    const { labelIds, fieldKeys } = await readUsedNames(undo, Number(first!.seq), pageTasks)
    const labels = await sql<
      { name: string }[]
    >`select name from labels where id = any(${labelIds}::uuid[]) order by name`
    expect(labels.map(({ name }) => name)).toEqual(['all', 'label 1', 'label 3', 'label 5'])
    expect(fieldKeys.sort()).toEqual(['all', 'field1', 'field3', 'field5'])
  }
})
