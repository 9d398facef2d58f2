import type { TaskRow } from '../../drizzle/rows.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import { maxMoved } from '../../src/log/children.ts'
import { upTo } from '../kit.ts'
import { comment, commentCreated, editor, elsewhereCreated } from './events.ts'
import { elsewhereId, eventOf, invitedElsewhere, staffed, subtask } from './events.ts'
import { subtaskCreated, task, taskCreated, taskOf, viewer } from './events.ts'
import { ruleOf, when, now } from './given.ts'

const note = (n: number, text = 'Oil it') => ({ ...comment, id: `c${n}`, text })
const notes = (count: number, text?: string) => upTo(count).map((n) => note(n, text))
/** The assignee is not a member of the other project, in which the last task has number 6. */
const moved = taskOf({ assigneeId: viewer })
const last = taskOf({ id: 'last', projectId: elsewhereId, number: 6 })
const move = (children: object[], isWithSubtask = false) =>
  when(
    editor,
    ruleOf(updateTask, { id: task.id, projectId: elsewhereId }),
    [
      ...[...staffed, taskCreated(moved), ...(isWithSubtask ? [subtaskCreated()] : [])],
      ...children.map((child) => commentCreated(child as typeof comment)),
    ],
    [elsewhereCreated, invitedElsewhere(editor, 'EDITOR'), taskCreated(last)],
  )

const leaving = eventOf('task.moved_out', 'task', moved, null, { id: 'new-1' })
const rowAfter = (eventId: string): TaskRow =>
  taskOf({ projectId: elsewhereId, number: 7, updatedAt: now, eventId })

/** The n-th event of the arrival of a task. */
function arriving(n: number, comments: object[], subtasks: object[] = []) {
  const [was, after] = [rowAfter(`new-${n}`), rowAfter(`new-${n + 1}`)]
  const before = n === 1 ? null : { ...after, eventId: was.eventId }
  const event = eventOf('task.moved_in', 'task', before, after, { at: elsewhereId })
  return { ...event, after: { ...after, subtasks, comments } }
}

test('a move takes subtasks and comments along, in several events if one event cannot contain all', () => {
  const many = notes(150)
  move(many, true).then(leaving, arriving(1, many.slice(0, 99), [subtask]), arriving(2, many.slice(99)))
  const [long, longer] = [note(1, 'x'.repeat(150_000)), note(2, 'x'.repeat(250_000))]
  move([long, longer, note(3)]).then(
    leaving,
    arriving(1, [long]),
    arriving(2, [longer]),
    arriving(3, [note(3)]),
  )
  // The last event, which contains the returned row, has the id of the command.
  for (const [count, ids] of [
    [1, ['new-1', 'of command']],
    [250, ['new-1', 'new-2', 'new-3', 'of command']],
  ] as const)
    expect(
      move(notes(count), true)
        .decide({ newEventId: () => 'of command' })
        .changes.map(({ id }) => id),
    ).toEqual([...ids])
})

test('a move is rejected with 409 if the task has too many children, or too many characters in them', () => {
  const { rows, characters } = maxMoved
  const whole = `${rows} subtasks and comments, or ${characters} characters in them,`
  const error = `A task with more than ${whole} cannot move to another project`
  expect(() => move(notes(rows, 'x')).decide()).not.toThrow()
  move(notes(rows + 1, 'x')).thenRejected(409, error)
  move(notes(rows, 'x'), true).thenRejected(409, error)
  move(notes(2, 'x'.repeat(characters / 2 + 1))).thenRejected(409, error)
})
