import fc from 'fast-check'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import { cases, upTo } from '../../kit.ts'
import { openRunScene, task as taskOf } from './scene.ts'

const { newProject, importItems } = await openRunScene(2)

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
const row = fc.nat(50)
const key = oneOf('1', '2', '3', '4', '5', '6')
const person = maybe(oneOf({ name: 'Someone' }, { name: 'Ada L.' }, { name: '', email: 'ada@example.com' }))
const instant = maybe(
  oneOf('2020-01-01', '1969-07-20T20:17:00Z', '12.13.2020', '9999-12-31T23:59:59-12:00', ''),
)
const title = fc.oneof(oneOf('Task', ' ', 'x'.repeat(600), 'a\u0000b', 'a\ud800', 'two\nlines'), fc.string())
const task = fc.record(
  {
    ...{ kind: oneOf('task' as const), row, key, title, parent: maybe(key) },
    ...{ externalId: maybe(oneOf('X-1', 'x'.repeat(300))), notes: maybe(oneOf(['Estimate: 3'])) },
    description: maybe(oneOf('', 'Words', 'y'.repeat(20_500))),
    ...{ list: maybe(oneOf('Doing', 'Done!', 'Ideas')), status: maybe(oneOf('DONE', 'TODO')) },
    ...{ dueDate: instant, remindAt: instant, createdAt: instant, author: person, assignee: person },
    labels: maybe(fc.array(oneOf('bug', 'BUG', '', 'l'.repeat(60)), { maxLength: 3 })),
    fields: maybe(fc.dictionary(oneOf('size', 'Story points', '部署'), oneOf<unknown>(1, 'large', true, ''))),
    blockedBy: maybe(fc.array(key, { maxLength: 3 })),
  },
  { noNullPrototype: true },
)
const child = { row, task: key, key: maybe(key), createdAt: instant }
const subtask = fc.record({ kind: oneOf('subtask' as const), ...child, title, completed: fc.boolean() })
const comment = fc.record({ kind: oneOf('comment' as const), ...child, text: title, author: person })
const field = fc.record({
  ...{ kind: oneOf('field' as const), row, key: oneOf('size'), name: oneOf('Size') },
  ...{ type: oneOf('text', 'number', 'choice'), options: oneOf(['large']) },
})
const items = fc.array(fc.oneof({ weight: 6, arbitrary: task }, subtask, comment, field), { maxLength: 14 })

test('a dry run has the report of the later import, and changes nothing', async () => {
  const property = fc.asyncProperty(items, items, async (first, second) => {
    const { owner, projectId } = await newProject()
    for (const file of [first, second] as ImportedItem[][]) {
      const before = await owner.get(`/projects/${projectId}/events`)
      const { id: _, ...dry } = await importItems(owner, projectId, file, { dryRun: true })
      expect((await owner.get(`/projects/${projectId}/events`)).text).toBe(before.text)
      const { id: __, ...real } = await importItems(owner, projectId, file)
      expect(dry).toEqual(real)
      expect(real).toMatchObject({ state: 'done', error: null })
      const { read, created, updated, unchanged, rejected } = real.counts
      expect(created + updated + unchanged + rejected).toBe(read)
    }
    const { counts } = await importItems(owner, projectId, second as ImportedItem[])
    expect(counts).toMatchObject({ created: 0, updated: 0 })
  })
  await fc.assert(property, { numRuns: cases(6) })
})

test('a dry run with more labels than a project can have has the report of the later import', async () => {
  const { owner, projectId } = await newProject()
  const tasks = upTo(600).map((n) => taskOf(`${n}`, { labels: [`label ${n}`] }))
  const { id: _, ...dry } = await importItems(owner, projectId, tasks, { dryRun: true })
  const { id: __, ...real } = await importItems(owner, projectId, tasks)
  expect(real.lines.filter(({ message }) => message.includes('at most 500 labels'))).toHaveLength(100)
  expect(dry).toEqual(real)
})
