import { recordTimes, createTask, updateTask } from '../../modules/tasks/commands.ts'
import { editor, elsewhereId, eventOf, projectDeleted, projectId, staffed, task } from './events.ts'
import { taskCreated, taskOf } from './events.ts'
import { contextOf, folded, now, ruleOf, when } from './given.ts'

const [past, earlier, future] = ['2030-02-01', '2030-01-01', '2031-01-01'].map(
  (day) => `${day}T00:00:00.000Z`,
) as [string, string, string]
const nextMillisecond = new Date(Date.parse(now) + 1).toISOString()
const record = ruleOf(recordTimes, { projectId, ids: [task.id, 'nothing'] })
const given = (fields: object) => [...staffed, { ...taskCreated(taskOf(fields)), projectId }]
const changed = (eventId: string) => ({ updatedAt: now, eventId })
const noClaim = { claimedBy: null, claimedUntil: null, claimSeq: null }

test('task.record_times records a reminder, a due date and the end of a claim, in this order', () => {
  const before = taskOf({
    remindAt: now,
    dueDate: past,
    ...{ claimedBy: editor, claimedUntil: now, claimSeq: 7 },
  })
  const reminded = taskOf({ ...before, remindAt: null, ...changed('new-1') })
  const due = taskOf({ ...reminded, dueAfter: past, ...changed('new-2') })
  const expired = { ...due, ...noClaim, attempts: 1, ...changed('new-3') }
  when('worker', record, given(before)).then(
    eventOf('task.reminded', 'task', before, reminded),
    eventOf('task.due', 'task', { ...reminded, dueAfter: null }, due),
    eventOf('task.claim_expired', 'task', { ...due, attempts: null }, expired),
  )
})

test.each([
  ['has no times', { dueDate: null }],
  [
    'has only times in the future',
    { remindAt: future, dueDate: future, claimedBy: editor, claimedUntil: nextMillisecond },
  ],
  ['is DONE', { status: 'DONE' }],
  ['has a due date that is recorded already', { dueAfter: past }],
  ['is in another project', { projectId: elsewhereId }],
])('task.record_times records nothing for a task that %s', (_, fields) => {
  when('worker', record, given(fields)).thenNoEvents(undefined)
})

test('task.record_times reminds of a DONE task too, but records nothing in a deleted project', () => {
  const before = taskOf({ status: 'DONE', remindAt: past })
  when('worker', record, given(before)).then(
    eventOf('task.reminded', 'task', before, { ...before, remindAt: null, ...changed('new-1') }),
  )
  when('worker', record, [...given({}), projectDeleted]).thenNoEvents(undefined)
})

test.each([
  ['in the past gets no event', { dueDate: null }, { dueDate: past }, past],
  ['in the future gets an event', { dueDate: null }, { dueDate: future }, undefined],
  [
    'in the future gets an event, even after an earlier due date had one',
    { dueAfter: past },
    { dueDate: future },
    past,
  ],
  ['that is earlier than a recorded due date gets no event', { dueAfter: past }, { dueDate: earlier }, past],
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
])('a due date %s', (_, fields, input, dueAfter) => {
  const state = folded(given(fields))
  const { answer } = ruleOf(updateTask, { id: task.id, ...(input as object) })(
    state,
    contextOf(editor),
    state,
  )
  expect(answer.dueAfter).toBe(dueAfter)
})

const create = (input: object) => ruleOf(createTask, { projectId, title: 'T', ...input })

test('a new task gets no event for a due date in the past', () => {
  const created = (input: object) => when(editor, create(input), staffed).decide().answer
  expect(created({ dueDate: past })).toMatchObject({ dueDate: past, dueAfter: past })
  for (const input of [{}, { dueDate: future }, { remindAt: future }])
    expect(Object.keys(created(input))).not.toContain('dueAfter')
  expect(Object.keys(created({}))).not.toContain('remindAt')
})

test('a new reminder must be in the future; a client may send a past reminder again while no worker has recorded it', () => {
  const remind = (remindAt: string) => ruleOf(updateTask, { id: task.id, remindAt })
  for (const rule of [create({ remindAt: past }), remind(now)])
    when(editor, rule, given({})).thenRejected(400, 'remindAt must be in the future')
  const before = taskOf({ remindAt: past })
  when(editor, remind(past), given(before)).thenNoEvents(before)
})
