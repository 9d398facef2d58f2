import fc from 'fast-check'
import type { LabelRow } from '../../drizzle/rows.ts'
import { createLabel, updateLabel } from '../../modules/labels/commands.ts'
import { label, labelNameTaken } from '../../modules/labels/entity.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import type { TaskChange } from '../../modules/tasks/schema.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { tooManyRows } from '../../src/commands/decide.ts'
import { cases } from '../kit.ts'
import { busy, editor, eventOf, projectId, task } from './events.ts'
import { contextOf, errorOf, folded, ruleOf } from './given.ts'

const labelOf = (n: number): LabelRow => ({
  ...{ id: `label ${n}`, projectId, name: `L${n}`, color: null },
  ...{ createdAt: task.createdAt, eventId: `label-event ${n}` },
})
const created = (n: number) => eventOf('label.created', 'label', null, labelOf(n))
const deleted = (n: number) => eventOf('label.deleted', 'label', labelOf(n), null)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('the name of a label', () => {
  const state = folded([...busy, created(0), created(1)])
  const create = (name: string) => ruleOf(createLabel, { projectId, name })(state, contextOf(editor))
  const rename = (name: string) => ruleOf(updateLabel, { id: 'label 0', name })(state, contextOf(editor))

  test('may differ from its earlier name only by case', () => {
    expect(rename('l0').answer).toMatchObject({ name: 'l0' })
  })

  test('is rejected if another label has it, without regard to case', () => {
    const { status, message } = labelNameTaken('L1')
    for (const decide of [() => create(' l1 '), () => rename('l1')])
      expect(errorOf(decide)).toEqual({ status, message })
  })
})

test('a project has at most 500 labels', () => {
  const state = folded([...busy, ...upTo(500).map(created)])
  const { status, message } = tooManyRows(label)
  const create = () => ruleOf(createLabel, { projectId, name: 'New' })(state, contextOf(editor))
  expect(errorOf(create)).toEqual({ status, message })
})

const count = 8
const ids = fc.uniqueArray(
  fc.nat({ max: count - 1 }).map((n) => `label ${n}`),
  { maxLength: count },
)
const change: fc.Arbitrary<TaskChange> = fc.oneof(
  fc.record({ labelIds: ids }),
  fc.record({ addLabelIds: ids, removeLabelIds: ids }, { requiredKeys: [] }),
)

/** The labels of a task after a change, as the documentation describes them. */
function expected(
  labels: string[],
  { labelIds, addLabelIds = [], removeLabelIds = [] }: TaskChange,
): string[] {
  if (labelIds) return labelIds
  const kept = labels.filter((id) => !removeLabelIds.includes(id))
  return [...kept, ...addLabelIds.filter((id) => !kept.includes(id))]
}

test('random changes of the labels of a task keep the documented order, and write no event without a change', () => {
  const property = fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
    let events: EventDraft[] = [...busy, ...upTo(count).map(created)]
    let labels: string[] = []
    for (const one of changes) {
      const decision = ruleOf(updateTask, { id: task.id, ...one })(folded(events), contextOf(editor))
      const next = expected(labels, one)
      expect(decision.answer.labelIds ?? []).toEqual(next)
      expect(decision.changes.length).toBe(String(next) === String(labels) ? 0 : 1)
      // An empty list is stored as null.
      if (next.length === 0 && labels.length > 0)
        expect(decision.changes[0]!.after).toMatchObject({ labelIds: null })
      events = [...events, ...decision.changes.map((event) => ({ ...event, id: `${events.length}` }))]
      labels = next
    }
  })
  fc.assert(property, { numRuns: cases(200) })
})

test('a task keeps a deleted label until its list would be too long', () => {
  const all = upTo(51).map(created)
  const full = { ...task, labelIds: upTo(50).map((n) => labelOf(n).id), eventId: 'full' }
  const state = folded([...busy, ...all, eventOf('task.updated', 'task', task, full), deleted(3)])
  const changeBy = (input: TaskChange) =>
    ruleOf(updateTask, { id: task.id, ...input })(state, contextOf(editor))
  const storedAfter = (input: TaskChange) => (changeBy(input).changes[0]!.after as typeof full).labelIds
  expect(storedAfter({ removeLabelIds: ['label 0'] })).toContain('label 3')
  expect(storedAfter({ addLabelIds: ['label 50'] })).not.toContain('label 3')
  expect(changeBy({ addLabelIds: ['label 50'] }).answer.labelIds).toHaveLength(50)
})
