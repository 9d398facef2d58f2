import type { TaskRow } from '../../drizzle/rows.ts'
import type { TaskChange } from '../../modules/tasks/schema.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import { maxMoved } from '../../src/log/children.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { busy, comment, commentCreated, editor, elsewhereCreated } from './events.ts'
import { elsewhereId, eventOf, invitedElsewhere, staffed, subtask } from './events.ts'
import { subtaskCreated, task, taskCreated, taskOf, viewer } from './events.ts'
import { ruleOf, contextOf, folded, when, now, withLoadedChildren } from './given.ts'

const there = [elsewhereCreated, invitedElsewhere(editor, 'EDITOR'), invitedElsewhere(viewer, 'VIEWER')]
const move = (wanted: TaskChange = {}, id = task.id) =>
  ruleOf(updateTask, { ...wanted, id, projectId: elsewhereId })
const arrived = (fields: Partial<TaskRow> = {}) =>
  taskOf({ projectId: elsewhereId, number: 1, updatedAt: now, eventId: 'new-2', ...fields })
const leaving = (before: TaskRow = task) => eventOf('task.moved_out', 'task', before, null, { id: 'new-1' })
const arriving = (after: TaskRow, along: object = { subtasks: [subtask], comments: [comment] }) =>
  eventOf('task.moved_in', 'task', null, { ...after, ...along }, { at: elsewhereId })
const alone = { subtasks: [], comments: [] }

describe('moving a task', () => {
  test('moves subtasks and comments, in several events if one event cannot contain all', () => {
    const note = (n: number, text = 'Oil it') => ({ ...comment, id: `c${n}`, text })
    const notes = Array.from({ length: 150 }, (_, n) => note(n))
    const more = (eventId: string, was: string, along: object) => {
      const after = arrived({ eventId })
      const change = eventOf('task.moved_in', 'task', { ...after, eventId: was }, after, { at: elsewhereId })
      return { ...change, after: { ...after, ...along } }
    }
    when(
      editor,
      move(),
      [...staffed, taskCreated(), subtaskCreated(), ...notes.map((note) => commentCreated(note))],
      there,
    )
      .then(
        leaving(),
        arriving(arrived(), { subtasks: [subtask], comments: notes.slice(0, 99) }),
        more('new-3', 'new-2', { subtasks: [], comments: notes.slice(99) }),
      )
      .answering(arrived({ eventId: 'new-3' }))

    const [long, longer] = [note(1, 'x'.repeat(150_000)), note(2, 'x'.repeat(250_000))]
    when(
      editor,
      move(),
      [...staffed, taskCreated(), ...[long, longer, note(3)].map((note) => commentCreated(note))],
      there,
    ).then(
      leaving(),
      arriving(arrived(), { ...alone, comments: [long] }),
      more('new-3', 'new-2', { ...alone, comments: [longer] }),
      more('new-4', 'new-3', { ...alone, comments: [note(3)] }),
    )
  })

  test('the last event, which contains the returned row, has the id of the command', () => {
    const ids = (events: EventDraft[]) => {
      const known = { ...contextOf(editor), newEventId: () => 'the order' }
      return move()(withLoadedChildren(events), known, folded(there, elsewhereId)).changes.map(({ id }) => id)
    }
    const notes = Array.from({ length: 250 }, (_, n) => commentCreated({ ...comment, id: `c${n}` }))
    expect(ids(busy)).toEqual(['new-1', 'the order'])
    expect(ids([...busy, ...notes])).toEqual(['new-1', 'new-2', 'new-3', 'the order'])
  })

  test('is rejected with 409 if the task has too many children, or too many characters in them', () => {
    const { rows, characters } = maxMoved
    const notes = (count: number, text: string) =>
      Array.from({ length: count }, (_, n) => commentCreated({ ...comment, id: `c${n}`, text }))
    const whole = `${rows} subtasks and comments, or ${characters} characters in them,`
    const refusal = `A task with more than ${whole} cannot move to another project`
    const moving = (events: EventDraft[]) =>
      when(editor, move(), [...staffed, taskCreated(), ...events], there)
    const allowed = [...staffed, taskCreated(), ...notes(rows, 'x')]
    const target = folded(there, elsewhereId)
    expect(() => move()(withLoadedChildren(allowed), contextOf(editor), target)).not.toThrow()
    moving(notes(rows + 1, 'x')).thenRejected(409, refusal)
    moving([subtaskCreated(), ...notes(rows, 'x')]).thenRejected(409, refusal)
    moving(notes(2, 'x'.repeat(characters / 2 + 1))).thenRejected(409, refusal)
  })
})
