import type { FieldRow } from '../../drizzle/rows.ts'
import { changedValues, maxValues } from '../../modules/fields/values.ts'
import { createLabel, deleteLabel } from '../../modules/labels/commands.ts'
import { deleteProject } from '../../modules/projects/commands.ts'
import { createSubtask } from '../../modules/subtasks/commands.ts'
import { createTask, recordTimes, updateTask } from '../../modules/tasks/commands.ts'
import { restore } from '../../modules/undo/undo.ts'
import { claimTask } from '../../modules/work-queue/commands.ts'
import { type Caller, roles, scopes } from '../../src/identity/rights.ts'
import { maxMoved } from '../../src/log/rows.ts'
import type { LoggedEvent } from '../../src/log/undo-input.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { undoRuleOf } from '../../src/model/model.ts'
import { model, newId, readYaml, upTo } from '../kit.ts'
import { errorOf, nextId, now, openProject, start } from './memory-project.ts'

const [past, future, end] = ['2030-03-01', '2031-01-01', '2031-06-01'].map(
  (day) => `${day}T00:00:00.000Z`,
) as [string, string, string]

/** Opens a project with one task. */
function openTask(fields: object = {}, at = start) {
  const { id: projectId, run, state } = openProject()
  const { id } = run(createTask, { projectId, title: 'T', ...fields }, { at }).answer
  const update = (input: object, time = now) => run(updateTask, { id, ...input }, { at: time }).answer
  /** Returns the types of the events that a worker records. */
  const record = (time = now) => {
    const { changes } = run(recordTimes, { projectId, ids: [id, 'nothing'] }, { by: 'worker', at: time })
    return changes.map(({ type }) => type)
  }
  return { id, projectId, run, state, update, record, task: () => state.row('task', id)! }
}

test('a worker records a reminder, a due date and the end of a claim once, in this order, and not before their time', () => {
  const { id, run, record, task } = openTask({ remindAt: now, dueDate: now })
  const before = new Date(Date.parse(now) - 1).toISOString()
  run(claimTask, { id, leaseSeconds: 60 }, { at: new Date(Date.parse(now) - 60_000).toISOString() })
  expect(record(before)).toEqual([])
  expect(record()).toEqual(['task.reminded', 'task.due', 'task.claim_expired'])
  const noClaim = { claimedBy: null, claimedUntil: null, claimSeq: null, attempts: 1 }
  expect(task()).toMatchObject({ remindAt: null, dueDate: now, dueAfter: now, updatedAt: now, ...noClaim })
  expect(record(end)).toEqual([])
})

test('a worker reminds of a DONE task too, but records nothing for a task of another project or of a deleted project', () => {
  expect(openTask({ status: 'DONE', dueDate: past, remindAt: past }).record()).toEqual(['task.reminded'])
  const moved = openTask({ dueDate: past })
  moved.state.put('task', moved.id, { ...moved.task(), projectId: 'elsewhere' } as never)
  const deleted = openTask({ dueDate: past })
  deleted.run(deleteProject, { id: deleted.projectId }, { by: 'owner' })
  expect([moved.record(), deleted.record()]).toEqual([[], []])
})

interface Cases {
  dueDates: [what: string, dueDate: string | null, steps: (object | 'record')[], count: number][]
  wrongValues: Record<string, [key: string, value: unknown][]>
  undoRights: Record<string, (string | string[])[]>
}
const { dueDates, wrongValues, undoRights } = readYaml<Cases>('test/unit/rules.yaml')

test.each(dueDates)('a due date %s', (_, dueDate, steps, count) => {
  const { update, record } = openTask({ dueDate })
  const recorded = steps.flatMap((step) => (step === 'record' ? record() : (update(step as object), [])))
  expect([...recorded, ...record(end)]).toEqual(Array(count).fill('task.due'))
})

test('a new task gets no event for a due date that has passed, and only then stores that it needs none', () => {
  const { record, task } = openTask({ dueDate: past }, now)
  expect([record(end), task().dueAfter]).toEqual([[], past])
  for (const fields of [{}, { dueDate: future }, { remindAt: future }])
    expect(openTask(fields).task()).not.toHaveProperty('dueAfter')
  expect(openTask().task()).not.toHaveProperty('remindAt')
})

test('a new reminder must be in the future; a client may send a past reminder again while no worker has recorded it', () => {
  const { task, update } = openTask({ remindAt: past })
  const error = { status: 400, message: 'remindAt must be in the future' }
  for (const rule of [() => openTask({ remindAt: past }, now), () => update({ remindAt: now })])
    expect(errorOf(rule)).toEqual(error)
  const before = task()
  expect(update({ remindAt: past })).toEqual(before)
})

/** Moves a task with a subtask and comments of these lengths. */
function move(lengths: number[]) {
  const { id, run, state } = openTask()
  run(createSubtask, { taskId: id, title: 'S' })
  for (const length of lengths) {
    const comment = { id: nextId(), taskId: id, text: 'x'.repeat(length), eventId: 'e' }
    state.put('comment', comment.id, comment as never)
  }
  const comments = state.all('comment')
  const to = openProject()
  const moving = { to: to.state, newEventId: () => 'of command' }
  const { changes, answer } = run(updateTask, { id, projectId: to.id }, moving)
  const arrivals = changes.slice(1).map(({ after }) => after as unknown as Record<string, object[]>)
  const found = ['subtasks', 'comments'].map((list) => arrivals.flatMap((after) => after[list]!))
  expect(found).toEqual([[expect.objectContaining({ title: 'S' })], comments])
  expect(changes.map(({ type }) => String(type))).toEqual([
    'task.moved_out',
    ...arrivals.map(() => 'task.moved_in'),
  ])
  // The last event, which contains the returned row, has the id of the command.
  expect(changes.flatMap((one, n) => (one.id === 'of command' ? n : []))).toEqual([arrivals.length])
  expect(answer).toMatchObject({ projectId: to.id, eventId: 'of command' })
  return arrivals.map(({ subtasks, comments }) => subtasks!.length + comments!.length)
}

test('a move takes subtasks and comments along, in several events if one event cannot contain all', () => {
  expect(move([])).toEqual([1])
  expect(move(Array(150).fill(9))).toEqual([100, 51])
  expect(move([150_000, 250_000, 9])).toEqual([2, 1, 1])
})

test('a move is rejected with 409 if the task has too many children, or too many characters in them', () => {
  const { rows, characters } = maxMoved
  expect(move(Array(rows - 1).fill(1))).toHaveLength(rows / 100)
  const whole = `${rows} subtasks and comments, or ${characters} characters in them,`
  const error = { status: 409, message: `A task with more than ${whole} cannot move to another project` }
  for (const lengths of [Array(rows).fill(1), Array(2).fill(characters / 2)])
    expect(errorOf(() => move(lengths))).toEqual(error)
})

const fieldOf = (key: string, type: FieldRow['type'], options: string[] | null = null): FieldRow => ({
  ...{ id: key, projectId: 'p', key, name: key, type, options, createdAt: 'now', eventId: 'e' },
})
const fieldsOf = (...fields: FieldRow[]) => ({ all: () => fields })
const all = fieldsOf(
  ...[fieldOf('t', 'text'), fieldOf('num', 'number'), fieldOf('on', 'boolean'), fieldOf('at', 'date')],
  ...[fieldOf('size', 'choice', ['small', 'large']), fieldOf('constructor', 'text')],
)

test.each(Object.entries(wrongValues))('rejects a value that is not %s', (expected, wrong) => {
  for (const [key, value] of wrong) {
    const change = Object.defineProperty(JSON.parse(`{${JSON.stringify(key)}:0}`), key, { value })
    expect(() => changedValues(all, null, change)).toThrow(`fields.${key} must be ${expected}`)
  }
})

test('values of deleted fields are kept, and dropped first if there are too many; all have at most 20,000 characters', () => {
  const fields = upTo(maxValues).map((n) => fieldOf(`k${n}`, 'number'))
  const old = { gone: 1, ...Object.fromEntries(fields.slice(1).map(({ key }) => [key, 2])) }
  expect(changedValues(fieldsOf(...fields), old, { k2: 3 })).toHaveProperty('gone', 1)
  const full = changedValues(fieldsOf(...fields), old, { k1: 3 })!
  expect(Object.keys(full)).toHaveLength(maxValues)
  expect(full).not.toHaveProperty('gone')
  const texts = upTo(11).map((n) => fieldOf(`k${n}`, 'text'))
  expect(() => changedValues(all, null, { t: 'x'.repeat(2_001) })).toThrow('at most 2000 characters')
  const long = Object.fromEntries(texts.map(({ key }) => [key, 'x'.repeat(2_000)]))
  expect(() => changedValues(fieldsOf(...texts), null, long)).toThrow('at most 20000 characters')
})

test('a task keeps a deleted label until its list would be too long', () => {
  const { projectId, run, update, task } = openTask()
  const ids = upTo(51).map((n) => run(createLabel, { projectId, name: `L${n}` }).answer.id)
  const [first, deleted, last] = [ids[0]!, ids[2]!, ids[50]!]
  update({ labelIds: ids.slice(0, 50) })
  run(deleteLabel, { id: deleted })
  update({ removeLabelIds: [first] })
  expect(task().labelIds).toContain(deleted)
  update({ addLabelIds: [first, last] })
  expect(task().labelIds).not.toContain(deleted)
  expect(task().labelIds).toHaveLength(50)
})

test('an undo restores a member unless the project has the maximum number of members, or the same commit removed the member again', () => {
  const { state } = openProject()
  const before = { ...state.memberOf('viewer')!, id: 'stranger', userId: 'stranger' }
  const removal = {
    type: 'member.removed',
    entity: 'member',
    entityId: before.id,
    seq: 4,
    before,
    after: null,
  }
  const restoreMember = (projectMembers: number) => {
    const undo = {
      ...{ events: [removal], deletedAgain: new Set() },
      ...{ children: new Map(), unassignments: new Map(), respacings: [] },
      people: new Map([['stranger', { id: 'stranger' }]]),
    }
    const context = { caller: { userId: 'owner' }, now, newId, newEventId: newId, limits: { projectMembers } }
    return [
      ...restore('member.invited', removal as unknown as LoggedEvent, { state, context, undo } as never),
    ]
  }
  const invited = [[4, { type: 'member.invited', after: { userId: 'stranger' } }]]
  expect(restoreMember(4)).toMatchObject(invited)
  const error = { status: 409, message: 'A project has at most 3 members' }
  expect(errorOf(() => restoreMember(3))).toEqual(error)
})

test('an undo requires the same role and token scope as the inverse change, or the author of a comment', () => {
  const fields = { userId: 'viewer', authorId: 'viewer' }
  const found: [type: string, right: string][] = []
  for (const type of model.eventTypes) {
    const inverse = undoRuleOf(type)
    if (typeof inverse === 'function') continue
    const before = type.endsWith('created') || type === 'member.invited' ? null : fields
    const after = type.endsWith('deleted') || type === 'member.removed' ? null : fields
    const isAllowed = (role: (typeof roles)[number], caller: Caller) =>
      !errorOf(() => inverse.admit({ caller, role }, { before, after } as unknown as StoredEvent))
    const role = roles.find((one) => isAllowed(one, { userId: 'editor' }))
    const withScope = (scope: (typeof scopes)[number]): Caller => {
      return { userId: 'editor', token: { id: 't', scope, projects: null } }
    }
    const scope = scopes.find((one) => isAllowed('ADMIN', withScope(one)))
    found.push([type, role ? `${role} ${scope}` : 'nobody'])
    if (type === 'comment.created' || type === 'comment.updated')
      expect([type, isAllowed('VIEWER', { userId: 'viewer' })]).toEqual([type, true])
  }
  const expected = Object.entries(undoRights).flatMap(([right, types]) =>
    types.flat().map((type) => [type, right]),
  )
  expect(found.sort()).toEqual(expected.sort() as typeof found)
})
