import type { FieldRow, LabelRow } from '../../drizzle/rows.ts'
import { changedValues, maxValues } from '../../modules/fields/values.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import { upTo } from '../kit.ts'
import { busy, editor, eventOf, projectId, task } from './events.ts'
import { contextOf, folded, ruleOf } from './given.ts'

const fieldOf = (key: string, type: FieldRow['type'], options: string[] | null = null): FieldRow => ({
  ...{ id: key, projectId: 'p', key, name: key, type, options, createdAt: 'now', eventId: 'e' },
})
const stateOf = (...fields: FieldRow[]) => ({ all: () => fields })
const all = stateOf(
  ...[fieldOf('t', 'text'), fieldOf('num', 'number'), fieldOf('on', 'boolean'), fieldOf('at', 'date')],
  ...[fieldOf('size', 'choice', ['small', 'large']), fieldOf('constructor', 'text')],
)

test.each<[expected: string, wrong: [key: string, value: unknown][]]>([
  ['a text of at most 2000 characters', [1, 'x'.repeat(2_001), 'a\0b', {}].map((value) => ['t', value])],
  ['a number', ['1', Number.POSITIVE_INFINITY].map((value) => ['num', value])],
  ['true or false', [['on', 'true']]],
  ['a date: YYYY-MM-DD', ['2027-02-29', '2027-02-01T10:00:00Z'].map((value) => ['at', value])],
  ['one of the options of the field', ['Small', ['small']].map((value) => ['size', value])],
  ['the key of a field of the project', ['toString', '__proto__', 'x'.repeat(40)].map((key) => [key, 1])],
])('rejects a value that is not %s', (expected, wrong) => {
  for (const [key, value] of wrong) {
    const change = Object.defineProperty(JSON.parse(`{${JSON.stringify(key)}:0}`), key, { value })
    expect(() => changedValues(all, null, change)).toThrow(`fields.${key} must be ${expected}`)
  }
})

test('values of deleted fields are kept, and dropped first if there are too many', () => {
  const fields = Array.from({ length: maxValues }, (_, n) => fieldOf(`k${n}`, 'number'))
  const old = { gone: 1, ...Object.fromEntries(fields.slice(1).map(({ key }) => [key, 2])) }
  expect(changedValues(stateOf(...fields), old, { k1: 3 })).toHaveProperty('gone', 1)
  const full = changedValues(stateOf(...fields), old, { k0: 3 })!
  expect(Object.keys(full)).toHaveLength(maxValues)
  expect(full).not.toHaveProperty('gone')
})

test('all values together have at most 20,000 characters', () => {
  const texts = upTo(11).map((n) => fieldOf(`k${n}`, 'text'))
  const long = Object.fromEntries(texts.map(({ key }) => [key, 'x'.repeat(2_000)]))
  expect(() => changedValues(stateOf(...texts), null, long)).toThrow('at most 20000 characters')
})

test('a task keeps a deleted label until its list would be too long', () => {
  const labelOf = (n: number): LabelRow => ({
    ...{
      id: `label ${n}`,
      projectId,
      name: `L${n}`,
      color: null,
      createdAt: task.createdAt,
      eventId: `e${n}`,
    },
  })
  const labels = upTo(51).map(labelOf)
  const full = { ...task, labelIds: labels.slice(0, 50).map(({ id }) => id), eventId: 'full' }
  const created = labels.map((label) => eventOf('label.created', 'label', null, label))
  const deleted = eventOf('label.deleted', 'label', labelOf(3), null)
  const state = folded([...busy, ...created, eventOf('task.updated', 'task', task, full), deleted])
  const changeBy = (input: object) => ruleOf(updateTask, { id: task.id, ...input })(state, contextOf(editor))
  const storedAfter = (input: object) => (changeBy(input).changes[0]!.after as typeof full).labelIds
  expect(storedAfter({ removeLabelIds: ['label 1'] })).toContain('label 3')
  expect(storedAfter({ addLabelIds: ['label 51'] })).not.toContain('label 3')
  expect(changeBy({ addLabelIds: ['label 51'] }).answer.labelIds).toHaveLength(50)
})
