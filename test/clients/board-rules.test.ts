import fc from 'fast-check'
import * as rules from '../../clients/board/rules.js'
import { describe as sentenceOf } from '../../clients/board/words.js'
import { cases, type Client, nilId, openScene, Random, words } from '../kit.ts'
import { openWorld, step } from '../rules/random-requests.ts'

type State = ReturnType<typeof rules.copyOf>
type Task = Parameters<typeof rules.inOrder>[0] extends Map<string, infer T> ? T : never
type Event = Parameters<typeof rules.apply>[1]

const { ada, bob } = await openScene(['Ada', 'Bob'])

/** Reads what the board shows of a version. */
async function stateAt(reader: Client, projectId: string, version: number): Promise<State> {
  const rows = async (path: string) =>
    (await reader.get(`${path}asOf=${version}&limit=200`)).body as never as { id: string }[]
  const byId = (all: { id: string }[]) => new Map(all.map((one) => [one.id, one as never]))
  const state = rules.emptyState(
    (await reader.get(`/projects/${projectId}?asOf=${version}`)).body as never,
    version,
  )
  return {
    ...state,
    tasks: byId(await rows(`/tasks?projectId=${projectId}&`)),
    labels: byId(await rows(`/projects/${projectId}/labels?`)),
    members: byId(await rows(`/projects/${projectId}/members?`)),
  }
}

const eventsOf = async (projectId: string): Promise<Event[]> =>
  (await ada.get(`/projects/${projectId}/events?limit=500`)).body as never

/** Returns what a person sees: the cards in their order, with labels and open blockers. */
function shown({ project, tasks, labels, members }: State) {
  const card = (task: Task) => {
    const { id, title, status, priority, dueDate, assigneeId, claim, position } = task
    const names = task.labelIds.flatMap((one) => labels.get(one)?.name ?? [])
    const blockers = rules
      .openBlockers(task, tasks)
      .map(({ number }) => number)
      .sort()
    return { id, title, status, priority, dueDate, assigneeId, claim, position, names, blockers }
  }
  return {
    name: project.name,
    cards: rules.inOrder(tasks).map(card),
    labels: [...labels.keys()].sort(),
    members: [...members.keys()].sort(),
  }
}

/** The commands whose results a board shows. */
const shownVerbs =
  words(`changeProject createTask changeTask assignTask placeTask labelTask blockTask createLabel changeLabel
  deleteLabel claimTask releaseTask addComment deleteTask undo`)
const boardStep = step.filter(({ verb }) => shownVerbs.includes(verb))

/** Creates a project of two members with random changes, some of which are rejected. */
async function makeChanged(seed: number, count: number) {
  const people = [ada, bob]
  const { world, run } = await openWorld([people, people])
  const random = new Random(seed)
  for (const one of fc.sample(boardStep, { seed, numRuns: count }))
    await run({ ...one, who: random.below(2) })
  const { id } = world.projects[0]!
  return { id, random, events: await eventsOf(id) }
}

test(`events lead forward and back to every version that the service returns, also over undone deletions`, async () => {
  for (let n = 0; n < cases(1); n++) {
    const { id, events } = await makeChanged(n + 1, 50)
    const last = events.length
    const states: State[] = []
    for (let version = 1; version <= last; version++) states[version] = await stateAt(ada, id, version)
    const state = rules.copyOf(states[last]!)
    let [steps, reads] = [0, 0]
    const show = (version: number) => {
      if (rules.walk(state, version, (seq) => events[seq - 1])) steps++
      else reads++
      if (state.version !== version) Object.assign(state, rules.copyOf(states[version]!))
      expect([version, shown(state)]).toEqual([version, shown(states[version]!)])
    }
    for (let version = last; version > 1; version--) show(version)
    for (let version = 2; version <= last; version++) show(version)
    expect(steps).toBeGreaterThan(reads)
  }
})

test(`an undo of the events that splitLater chooses restores every version, in ${cases(3)} random projects`, async () => {
  for (let n = 0; n < cases(3); n++) {
    const { id, random, events } = await makeChanged(n + 50, 30)
    const version = 3 + random.below(events.length - 3)
    const seqs = rules.splitLater(events.slice(version)).undone.map(({ seq }) => seq)
    if (seqs.length > 0) expect((await ada.post(`/projects/${id}/undo`, { seqs })).status).toBe(200)
    const last = (await eventsOf(id)).length
    const [now, goal] = [shown(await stateAt(ada, id, last)), shown(await stateAt(ada, id, version))]
    const plain = ({ cards }: typeof now) => cards.map(({ claim: _, position: __, ...card }) => card)
    expect([version, now.name, plain(now)]).toEqual([version, goal.name, plain(goal)])
  }
})

const task = (id: string, over: object = {}): Task => {
  const none = { status: 'TODO', labelIds: [], blockedByIds: [], claim: null, dueDate: null }
  return { id, number: 1, title: id, position: id, ...none, ...over } as never
}
const mapOf = (...all: Task[]) => new Map(all.map((one) => [one.id, one]))

test('a card that waits for its event stands where the person dropped it, also beside other such cards', () => {
  const tasks = mapOf(task('a0'), task('a0V'), task('b'))
  const drop = (id: string, after: string, count: number) => {
    tasks.set(id, task(id, { position: rules.keyAfter(after, count) }))
    return rules.inOrder(tasks).map((one) => one.id)
  }
  expect(drop('x', 'a0', 1)).toEqual(words('a0 x a0V b'))
  expect(drop('y', 'a0', 2)).toEqual(words('a0 y x a0V b'))
  expect(drop('z', tasks.get('y')!.position, 3)).toEqual(words('a0 y z x a0V b'))
  expect(drop('first', '', 4)).toEqual(words('first a0 y z x a0V b'))
})

test('writes that wait change, create and delete tasks, and never restore a task that others deleted', () => {
  const tasks = mapOf(task('a'), task('b'))
  const changed = rules.withWrites(tasks, [
    { taskId: 'a', patch: { status: 'DONE' } },
    { taskId: 'a', patch: { title: 'Second' } },
    { taskId: 'b', patch: null },
    { taskId: 'c', patch: task('c') },
    { taskId: 'gone', patch: { status: 'DONE' } },
    { patch: {} },
  ])
  expect([...changed.values()]).toMatchObject([{ status: 'DONE', title: 'Second' }, { id: 'c' }])
  expect(tasks.get('a')).toMatchObject({ status: 'TODO', title: 'a' })
})

const noon = new Date(2031, 4, 2, 12).getTime()
test.each([
  ['2031-05-01T00:00:00.000Z', 'TODO', true],
  ['2031-05-02T00:00:00.000Z', 'TODO', false],
  [new Date(noon - 1).toISOString(), 'TODO', true],
  [new Date(noon + 1).toISOString(), 'TODO', false],
  ['2031-05-01T00:00:00.000Z', 'DONE', false],
  [null, 'TODO', false],
])(
  'a date is overdue from the next day on, a time at once, and a finished task never: %s %s',
  (dueDate, status, isOverdue) => {
    expect(rules.isOverdue(task('a', { dueDate, status }), noon)).toBe(isOverdue)
  },
)

test.each([
  [{ text: 'plate DRAW' }, 'open'],
  [{ text: '#12' }, 'open'],
  [{ label: 'bug', assignee: 'ada' }, 'open'],
  [{ assignee: 'none' }, 'blocked freed done own others ended'],
  [{ ready: true }, 'open freed own ended'],
])('the filter %j finds the tasks %s', (filter, found) => {
  const claim = (id: string, until: string) => ({ by: { id, name: id }, until, seq: 1 })
  const tasks = mapOf(
    task('open', { title: 'Draw the Plate', number: 12, assigneeId: 'ada', labelIds: ['bug'] }),
    task('blocked', { blockedByIds: ['open', 'deleted'] }),
    task('freed', { blockedByIds: ['done', 'deleted'] }),
    task('done', { status: 'DONE' }),
    task('own', { claim: claim('ada', '2031-06-01T00:00:00.000Z') }),
    task('others', { claim: claim('bob', '2031-06-01T00:00:00.000Z') }),
    task('ended', { claim: claim('bob', '2031-04-01T00:00:00.000Z') }),
  )
  const all = { text: '', label: '', assignee: '', ready: false, ...filter }
  const isShown = rules.matches(all, tasks, 'ada', noon)
  expect([...tasks.values()].filter(isShown).map(({ id }) => id)).toEqual(words(found))
})

const event = (seq: number, type: string, over: object = {}) => {
  const ids = { entity: type.split('.')[0], entityId: 'a', taskId: 'a', actor: { id: 'ada', name: 'Ada' } }
  return { seq, type, ...ids, before: {}, after: {}, ...over } as never as Event
}

test('an undo of all later events leaves out events that changed no row which anybody wrote', () => {
  const system = { id: nilId, name: null }
  const later = [
    event(1, 'task.claimed'),
    event(2, 'task.claim_expired', { after: { claim: null } }),
    event(3, 'task.claimed'),
    event(4, 'task.claimed'),
    event(5, 'task.updated', { actor: system, after: { position: 'b' } }),
    event(6, 'task.due'),
    event(7, 'task.reminded'),
    event(8, 'task.ready'),
    event(9, 'task.unassigned', { actor: system }),
    event(10, 'webhook.created'),
    event(11, 'task.claimed', { entityId: 'b' }),
    event(12, 'task.updated', { entityId: 'b', after: { status: 'DONE', claim: null } }),
  ]
  const { undone, left } = rules.splitLater(later)
  expect([undone.map(({ seq }) => seq), left.length]).toEqual([[4, 9, 10, 12], 8])
})

test('no step leads over the undo of a deletion before the snapshot, because tasks show the label again', () => {
  const restored = event(6, 'label.created', { entityId: 'bug', before: null, undoes: 4 })
  const deleted = event(6, 'label.deleted', { entityId: 'bug', after: null })
  const again = event(7, 'label.created', { entityId: 'bug', before: null, undoes: 6 })
  const walk = (events: Event[]) => {
    const state = rules.emptyState({} as never, 5)
    return rules.walk(state, 5 + events.length, (seq) => events[seq - 6])
  }
  expect([walk([restored]), walk([deleted, again])]).toEqual([false, true])
})

test.each([
  ['task.updated', { after: { status: 'DONE', position: 'b' } }, 'Ada changed #7 Draw to Done'],
  ['task.updated', { after: { position: 'b', updatedAt: '' } }, 'Ada moved #7 Draw'],
  ['task.updated', { after: { title: 'מכונה', status: 'DONE' } }, 'Ada changed #7 \u2068מכונה\u2069 to Done'],
  ['task.deleted', { after: null, undoes: 3 }, 'Ada deleted #7 Draw, as an undo'],
  [
    'subtask.updated',
    { after: { completed: true }, before: { title: 'Ink' } },
    'Ada changed the subtask Ink of #7 Draw: done',
  ],
])('the event %s %j becomes the sentence %s', (type, over, sentence) => {
  const state = { tasks: new Map([['a', { number: 7, title: 'Draw' }]]) } as never
  expect(sentenceOf(event(1, type, over), state)).toBe(sentence)
})
