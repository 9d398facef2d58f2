import { comment, subtask, task } from '../run/items.ts'
import { openRunScene, tasksOf } from '../run/scene.ts'

const { newProject, importItems, client: _ } = await openRunScene()

/** Does not compress. */
const longText = (characters: number) =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(characters)))
    .toString('base64')
    .slice(0, characters)

test('imports tasks with keys of 50,000 characters, and finds the tasks again', async () => {
  const { owner, projectId } = await newProject()
  const [one, two, part] = [longText(50_000), longText(50_000), longText(50_000)]
  const items = [
    task('1', { key: one }),
    task('2', { key: two, blockedBy: [one] }),
    task('3', { key: part, parent: one }),
    subtask(one, 'Measure', { row: 4, key: longText(50_000) }),
    comment(one, 'In brass', { row: 5, key: longText(50_000) }),
    task('6', { key: two }),
  ]
  const result = await importItems(owner, projectId, items)
  expect(result).toMatchObject({ state: 'done', counts: { read: 3, created: 2, rejected: 1 } })
  const replaced = 'The external id was replaced, because it has more than 200 characters or is not valid'
  const messages = result.lines.map(({ row, message }) => [row, message])
  for (const [n, key] of [one, two].entries())
    expect(messages).toContainEqual([
      n + 1,
      expect.stringContaining(
        `${replaced}. At the foot of the description: External id: planka:${key.slice(0, 100)}`,
      ),
    ])
  expect(messages).toContainEqual([6, `${replaced}. Row 2 has the same id`])
  const tasks = await tasksOf(owner, projectId)
  const externalId = expect.stringMatching(/^planka:[\w-]{22}$/)
  expect(tasks).toMatchObject([
    {
      externalId,
      blockedByIds: [],
      description: expect.stringContaining(`External id: planka:${one.slice(0, 900)}`),
    },
    { externalId, blockedByIds: [tasks[0]!.id] },
  ])
  const subtasks = (await owner.get(`/tasks/${tasks[0]!.id}/subtasks`)).body
  expect(subtasks.map(({ title }) => title).sort()).toEqual(['Measure', 'Task 3'])
  expect((await owner.get(`/tasks/${tasks[0]!.id}/comments`)).body).toHaveLength(1)
  expect(await importItems(owner, projectId, items)).toMatchObject({ counts: { unchanged: 2, rejected: 1 } })
})

test('rejects the second task with an external id of 50,000 characters', async () => {
  const { owner, projectId } = await newProject()
  const externalId = longText(50_000)
  const items = [task('1', { externalId }), task('2', { externalId })]
  const result = await importItems(owner, projectId, items)
  expect(result.counts).toMatchObject({ created: 1, rejected: 1 })
  expect(result.lines).toMatchObject([
    { row: 1, message: expect.stringContaining(`External id: ${externalId.slice(0, 100)}`) },
    { row: 2, message: expect.stringMatching(/ Row 1 has the same id$/) },
  ])
})
