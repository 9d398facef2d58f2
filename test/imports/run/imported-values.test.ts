import { expect, test } from 'bun:test'
import { readImported } from '../../../workers/imports/steps/imported-values.ts'
import { task } from './items.ts'
import { openRunScene } from './scene.ts'

const { newProject, importItems, sql, client: _ } = await openRunScene()

test('reads the latest values of several imports, and at most about 16 MB of events', async () => {
  const { owner, projectId } = await newProject()
  for (const day of [1, 2, 3])
    await importItems(owner, projectId, [
      task('1', { description: `Day ${day}`, dueDate: `2030-01-0${day}`, priority: 'LOW' }),
      task('2', { dueDate: '2030-01-01' }),
    ])
  await importItems(owner, projectId, [task('1', { description: 'In brass', priority: 'LOW' }), task('2')])
  const run = { id: projectId, projectId, source: 'planka' as const }
  const ids = ['planka:1', 'planka:2', 'planka:3']
  const imported = await readImported(sql, run, ids)
  const one = { description: 'In brass', dueDate: null, priority: 'LOW', status: 'TODO' }
  expect(imported.get('planka:1')).toMatchObject(one)
  expect(imported.get('planka:2')).toMatchObject({ dueDate: null, priority: 'MEDIUM' })
  expect(imported.size).toBe(2)
  await sql`
    update events set after = after || jsonb_build_object('description', repeat('x', 9000000))
    where project_id = ${projectId} and entity = 'task'`
  // The event of the first import, which set the priority, is not read.
  const latest = (await readImported(sql, run, ids)).get('planka:1')
  expect(latest).toHaveProperty('description')
  expect(latest).not.toHaveProperty('priority')
})
