import { gzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import { upTo } from '../../races/pair.ts'
import { task } from '../run/items.ts'
import { fileOf, openRunScene, tasksOf } from '../run/scene.ts'

const { newProject, queue, work, resultOf, client: _ } = await openRunScene()

test('adds as many lines of sub-items to a description as it has space for', async () => {
  const { owner, projectId } = await newProject()
  const parts = upTo(4_000).map((n) => task(`${n + 10}`, { parent: '1', labels: ['brass'] }))
  const id = await queue(owner, projectId, gzipSync(fileOf([task('1'), task('1', { row: 2 }), ...parts])))
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 1, rejected: 1 } })
  const [first] = await tasksOf(owner, projectId)
  expect(first!.description).toStartWith(
    'Subtask "Task 11": Labels: brass\nSubtask "Task 12": Labels: brass\n',
  )
  expect(String(first!.description).length).toBe(10_000)
  const list = await owner.get(`/tasks/${first!.id}/subtasks?limit=200`)
  expect(list.body.map(({ title }) => title)).toEqual(upTo(200).map((n) => `Task ${n + 10}`))
})
