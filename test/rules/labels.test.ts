import fc from 'fast-check'
import type { LabelRow } from '../../drizzle/rows.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import type { TaskChange } from '../../modules/tasks/schema.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { cases } from '../kit.ts'
import { busy, editor, eventOf, projectId, task } from './events.ts'
import { contextOf, folded, ruleOf } from './given.ts'

const labelOf = (n: number): LabelRow => ({
  ...{ id: `label ${n}`, projectId, name: `L${n}`, color: null },
  ...{ createdAt: task.createdAt, eventId: `label-event ${n}` },
})
const created = (n: number) => eventOf('label.created', 'label', null, labelOf(n))
const deleted = (n: number) => eventOf('label.deleted', 'label', labelOf(n), null)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

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
