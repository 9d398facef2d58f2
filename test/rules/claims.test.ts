import { claimNextTask, claimTask, releaseTask } from '../../modules/work-queue/commands.ts'
import { readyTasks } from '../../modules/work-queue/ready-tasks.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import { claimEnded } from '../../src/commands/if-claim.ts'
import { noClaim } from '../../src/model/claims.ts'
import { admin, busy, editor, eventOf, project, task, taskCreated, taskOf } from './events.ts'
import { contextOf, errorOf, folded, now, ruleOf, when } from './given.ts'

const later = (ms: number) => new Date(Date.parse(now) + ms).toISOString()
const heldBy = (claimedBy: string, claimedUntil: string) =>
  taskOf({ claimedBy, claimedUntil, claimSeq: 7, eventId: 'claim-event' })
const given = (row: TaskRow) => [...busy, eventOf('task.claimed', 'task', task, row)]
const lease = { id: task.id, leaseSeconds: 60 }
const stamp = (eventId: string) => ({ updatedAt: now, eventId })

describe('task.claim', () => {
  const fields = { claimedBy: editor, claimedUntil: later(60_000) }
  test('takes the seq of its own event', () => {
    const claimed = taskOf({ ...fields, claimSeq: busy.length + 1, ...stamp('new-1') })
    when(editor, ruleOf(claimTask, lease)).then(
      eventOf('task.claimed', 'task', { ...task, ...noClaim }, claimed),
    )
  })

  test('records the end of a claim that has ended, before it begins another', () => {
    const ended = heldBy(admin, now)
    const free = { ...ended, ...noClaim, attempts: 1, ...stamp('new-1') }
    const claimed = { ...free, ...fields, claimSeq: busy.length + 3, ...stamp('new-2') }
    when(editor, ruleOf(claimTask, lease), given(ended)).then(
      eventOf('task.claim_expired', 'task', { ...ended, attempts: null }, free),
      eventOf('task.claimed', 'task', free, claimed),
    )
  })

  test('is rejected until the last millisecond of the claim of another account', () => {
    for (const command of [claimTask, releaseTask])
      when(
        editor,
        ruleOf<typeof lease, TaskRow>(command, lease),
        given(heldBy(admin, later(1))),
      ).thenRejected(409, `A deleted account holds a claim on the task until ${later(1)}`)
  })

  test('does not change a claim that has ended when its holder releases it', () => {
    const ended = heldBy(editor, now)
    when(editor, ruleOf(releaseTask, lease), given(ended)).thenNoEvents({ ...ended, ...noClaim })
  })
})

test('a write needs a live claim of this project with exactly the seq', () => {
  const rejected = (row: TaskRow, ifClaim = { taskId: task.id, seq: 7 }) =>
    errorOf(() => ruleOf(claimTask, lease, { ifClaim })(folded(given(row)), contextOf(editor)))
  const { status, message } = claimEnded()
  expect(rejected(heldBy(editor, later(1)))).toBe(undefined)
  expect(rejected(heldBy(editor, now))).toEqual({ status, message })
  expect(rejected(heldBy(editor, later(1)), { taskId: task.id, seq: 6 })).toEqual({ status, message })
  expect(rejected(heldBy(editor, later(1)), { taskId: 'other', seq: 7 })).toEqual({ status, message })
})

describe('task.claim_next', () => {
  const filter = { projectId: project.id, leaseSeconds: 60 }
  const tasks = ['one', 'two', 'three'].map((id, n) => taskOf({ id, number: n + 2 }))
  function stateWith(ids: string[]) {
    const state = folded([...busy, ...tasks.map(taskCreated)])
    const fact = readyTasks.create(project.id as never)
    fact.set({}, ids)
    state.facts.set(readyTasks as never, fact)
    return state
  }
  const claimedIn = (state: ReturnType<typeof stateWith>) =>
    ruleOf(claimNextTask, filter)(state, contextOf(editor)).changes.map(({ entityId }) => entityId)

  test('skips tasks that earlier commands of the batch have claimed, finished or blocked', () => {
    const [one, two, three] = tasks as [TaskRow, TaskRow, TaskRow]
    const state = stateWith(['one', 'two', 'three'])
    expect(claimedIn(state)).toEqual(['one'])
    state.put('task', one.id, { ...one, status: 'DONE' } as TaskRow)
    expect(claimedIn(state)).toEqual(['two'])
    state.put('task', two.id, { ...two, ...heldBy(admin, later(1)), id: two.id } as TaskRow)
    expect(claimedIn(state)).toEqual(['three'])
    state.put('task', three.id, { ...three, blockedByIds: [two.id] } as TaskRow)
    expect(claimedIn(state)).toEqual([])
    state.put('task', three.id, { ...three, blockedByIds: [one.id, 'unknown'] } as TaskRow)
    expect(claimedIn(state)).toEqual(['three'])
  })

  test('also sees tasks that earlier commands of the batch have made ready, in the order of priority', () => {
    const state = stateWith(['two'])
    const fact = state.fact(readyTasks)
    fact.apply(eventOf('task.updated', 'task', tasks[2]!, tasks[2]!))
    expect(claimedIn(state)).toEqual(['two'])
    fact.apply(eventOf('task.updated', 'task', tasks[0]!, tasks[0]!))
    expect(claimedIn(state)).toEqual(['one'])
    state.put('task', 'three', { ...tasks[2]!, priority: 'HIGH' } as TaskRow)
    expect(claimedIn(state)).toEqual(['three'])
  })
})
