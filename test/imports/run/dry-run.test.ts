import fc from 'fast-check'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import { cases, upTo } from '../../kit.ts'
import { openRunScene } from './scene.ts'

const { newProject, importItems } = await openRunScene(2)

const key = fc.constantFrom('1', '2', '3', '4', '5', '6')
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const person = fc.constantFrom(
  { name: 'Someone' },
  { name: 'Ada L.' },
  { name: '', email: 'ada@example.com' },
)
const instant = fc.constantFrom(
  '2020-01-01',
  '1969-07-20T20:17:00Z',
  '12.13.2020',
  '9999-12-31T23:59:59-12:00',
  '',
)
const title = fc.oneof(
  fc.constantFrom('Task', ' ', 'x'.repeat(600), 'a\u0000b', 'a\ud800', 'two\nlines'),
  fc.string(),
)

const task = fc.record(
  {
    ...{ kind: fc.constant('task' as const), row: fc.nat(50), title },
    ...{
      key,
      externalId: maybe(fc.constantFrom('X-1', 'x'.repeat(300))),
    },
    ...{ description: maybe(fc.constantFrom('', 'Words', 'y'.repeat(20_500))), parent: maybe(key) },
    ...{
      list: maybe(fc.constantFrom('Doing', 'Done!', 'Ideas')),
      status: maybe(fc.constantFrom('DONE', 'TODO')),
    },
    ...{ dueDate: maybe(instant), remindAt: maybe(instant), createdAt: maybe(instant) },
    ...{ author: maybe(person), assignee: maybe(person), notes: maybe(fc.constant(['Estimate: 3'])) },
    labels: maybe(fc.array(fc.constantFrom('bug', 'BUG', '', 'l'.repeat(60)), { maxLength: 3 })),
    fields: maybe(
      fc.dictionary(fc.constantFrom('size', 'Story points', '部署'), fc.constantFrom(1, 'large', true, '')),
    ),
    blockedBy: maybe(fc.array(key, { maxLength: 3 })),
  },
  { noNullPrototype: true },
)
const subtask = fc.record({
  ...{ kind: fc.constant('subtask' as const), row: fc.nat(50), task: key, key: maybe(key), title },
  ...{ completed: fc.boolean(), createdAt: maybe(instant) },
})
const comment = fc.record({
  ...{ kind: fc.constant('comment' as const), row: fc.nat(50), task: key, key: maybe(key) },
  ...{ text: title, author: maybe(person), createdAt: maybe(instant) },
})
const field = fc.record({
  ...{
    kind: fc.constant('field' as const),
    row: fc.constant(0),
    key: fc.constant('size'),
    name: fc.constant('Size'),
  },
  ...{ type: fc.constantFrom('text', 'number', 'choice'), options: fc.constant(['large']) },
})
const items = fc.array(fc.oneof({ weight: 6, arbitrary: task }, subtask, comment, field), { maxLength: 14 })

test('a dry run has the report of the later import, and changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(items, items, async (first, second) => {
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
      const { id: _, ...again } = await importItems(owner, projectId, second as ImportedItem[])
      expect(again.counts).toMatchObject({ created: 0, updated: 0 })
    }),
    { numRuns: cases(6) },
  )
})

test('a dry run with more labels than a project can have has the report of the later import', async () => {
  const { owner, projectId } = await newProject()
  const tasks = upTo(600).map((n): ImportedItem => {
    return { kind: 'task', row: n, key: `${n}`, title: 'Task', labels: [`label ${n}`] }
  })
  const { id: _, ...dry } = await importItems(owner, projectId, tasks, { dryRun: true })
  const { id: __, ...real } = await importItems(owner, projectId, tasks)
  expect(real.lines.filter(({ message }) => message.includes('at most 500 labels'))).toHaveLength(100)
  expect(dry).toEqual(real)
})
