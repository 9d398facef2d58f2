import { recordTimes, createTask, updateTask } from '../../modules/tasks/commands.ts'
import { editor, elsewhereId, eventOf, projectDeleted, projectId, staffed, task } from './events.ts'
import { taskCreated, taskOf } from './events.ts'
import { contextOf, folded, now, ruleOf, testRejections, when } from './given.ts'

const [past, earlier, future] = [
  '2030-02-01T00:00:00.000Z',
  '2030-01-01T00:00:00.000Z',
  '2031-01-01T00:00:00.000Z',
]
const worker = 'worker'
const record = (...ids: string[]) => ruleOf(recordTimes, { projectId, ids })
const given = (fields: object) => [...staffed, taskCreated(taskOf(fields))]
const changed = (eventId: string) => ({ updatedAt: now, eventId })

describe('task.record_times', () => {
  test('records a reminder, a due date and the end of a claim, in this order', () => {
    const claim = { claimedBy: editor, claimedUntil: now, claimSeq: 7 }
    const before = taskOf({ remindAt: now, dueDate: past, ...claim })
    const reminded = taskOf({ ...before, remindAt: null, ...changed('new-1') })
    const due = taskOf({ ...reminded, dueAfter: past, ...changed('new-2') })
    const noClaim = { claimedBy: null, claimedUntil: null, claimSeq: null }
    when(worker, record(task.id), [...staffed, taskCreated(before)]).then(
      eventOf('task.reminded', 'task', before, reminded),
      eventOf('task.due', 'task', { ...reminded, dueAfter: null }, due),
      eventOf(
        'task.claim_expired',
        'task',
        { ...due, attempts: null },
        { ...due, ...noClaim, attempts: 1, ...changed('new-3') },
      ),
    )
  })

  test.each([
    ['has no times', { dueDate: null }],
    [
      'has only times in the future',
      { remindAt: future, dueDate: future, claimedBy: editor, claimedUntil: future },
    ],
    ['is DONE', { status: 'DONE' }],
    ['has a due date that is recorded already', { dueAfter: past }],
    ['is in another project', { projectId: elsewhereId }],
  ])('records nothing for a task that %s', (_, fields) => {
    const created = { ...taskCreated(taskOf(fields as object)), projectId }
    when(worker, record(task.id, 'nothing'), [...staffed, created]).thenNoEvents(undefined)
  })

  test('records nothing in a deleted project', () => {
    when(worker, record(task.id), [...given({}), projectDeleted]).thenNoEvents(undefined)
  })

  test('reminds of a DONE task too', () => {
    const before = taskOf({ status: 'DONE', remindAt: past })
    when(worker, record(task.id), given(before)).then(
      eventOf('task.reminded', 'task', before, { ...before, remindAt: null, ...changed('new-1') }),
    )
  })
})

describe('events for due dates', () => {
  const row = (fields: object, input: object) => {
    const state = folded(given(fields))
    const { answer } = ruleOf(updateTask, { id: task.id, ...input })(state, contextOf(editor), state)
    return answer.dueAfter
  }

  test.each([
    ['in the past gets no event', { dueDate: null }, { dueDate: past }, past],
    ['in the future gets an event', { dueDate: null }, { dueDate: future }, undefined],
    [
      'in the future gets an event, even after an earlier due date had one',
      { dueAfter: past },
      { dueDate: future },
      past,
    ],
    [
      'that is earlier than a recorded due date gets no event',
      { dueAfter: past },
      { dueDate: earlier },
      past,
    ],
    ['of a reopened task gets no event if it is in the past', { status: 'DONE' }, { status: 'TODO' }, past],
    [
      'of a reopened task gets an event if it is in the future',
      { status: 'DONE', dueDate: future },
      { status: 'TODO' },
      undefined,
    ],
    [
      'that no worker has recorded yet gets its event, even if the status changes first',
      {},
      { status: 'IN_PROGRESS' },
      undefined,
    ],
    ['that a client sends again gets its event', {}, { dueDate: past, title: 'New' }, undefined],
  ])('a due date %s', (_, fields, input, dueAfter) => expect(row(fields, input)).toBe(dueAfter))

  test('a new task gets no event for a due date in the past', () => {
    const created = (input: object) => {
      const rule = ruleOf(createTask, { projectId, title: 'T', ...input })
      return rule(folded(staffed), contextOf(editor)).answer
    }
    expect(created({ dueDate: past })).toMatchObject({ dueDate: past, dueAfter: past })
    for (const input of [{}, { dueDate: future }, { remindAt: future }])
      expect(Object.keys(created(input))).not.toContain('dueAfter')
    expect(Object.keys(created({}))).not.toContain('remindAt')
  })
})

const passed = '400 remindAt must be in the future'
testRejections(given({}), {
  'for a new task with a reminder in the past': [
    editor,
    ruleOf(createTask, { projectId, title: 'T', remindAt: past }),
    passed,
  ],
  'for a reminder that is now': [editor, ruleOf(updateTask, { id: task.id, remindAt: now }), passed],
})

test('a client may send a past reminder again while no worker has recorded the reminder', () => {
  const again = ruleOf(updateTask, { id: task.id, remindAt: past })
  const before = taskOf({ remindAt: past })
  when(editor, again, given(before)).thenNoEvents(before)
})
