import fc from 'fast-check'
import type { Person } from '../kit.ts'
import { words } from '../support/words.ts'
import { emptyWorld, type Step, type Verb, verbs, type World } from './verbs.ts'

const often =
  words(`createTask changeTask placeTask labelTask createLabel setValues createField moveTask thereAndBack
  addSubtask toggleSubtask addComment undo`) as Verb[]
const seldom = Object.keys(verbs).filter((verb) => verb !== 'deleteProject') as Verb[]
// Often one of the first two rows, so that a row is changed several times.
const index = fc.oneof(
  { weight: 2, arbitrary: fc.nat({ max: 1 }) },
  { weight: 1, arbitrary: fc.nat({ max: 99 }) },
)

export const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...often) },
    { weight: 30, arbitrary: fc.constantFrom(...seldom) },
    { weight: 1, arbitrary: fc.constant('deleteProject' as const) },
  ),
  // The first user creates the first projects, so most requests of this user succeed.
  who: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 2, 3),
  process: fc.constantFrom(0, 0, 0, 0, 1),
  pick: index,
  other: index,
  value: fc.nat({ max: 99 }),
})

/** Waves of requests. The requests of one wave run at the same time. */
export const requestWaves = (waves: number) =>
  fc.array(fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }), { maxLength: waves, size: 'max' })

/** Creates the first rows and returns a function that runs steps. A 4xx is expected, any other error fails the test. */
export async function openWorld(people: Person[][]) {
  const [first = []] = people
  const world = emptyWorld(first)
  const run = async (step: Step) => {
    const answer = await verbs[step.verb](world, people[step.process]![step.who]!, step)
    const expected = [undefined, 200, 201, 204, 400, 403, 404, 409, 428].includes(answer?.status)
    if (!expected) throw new Error(`${step.verb} got ${answer?.status} ${answer?.text}`)
  }
  const beginning = { who: 0, process: 0, pick: 0, other: 1, value: 1 }
  for (const verb of ['openProject', 'openProject', 'invite', 'createTask'] as const)
    await run({ verb, ...beginning })
  return { world, run }
}

export async function runWaves(waves: Step[][], people: Person[][]): Promise<void> {
  const { run } = await openWorld(people)
  for (const wave of waves) await Promise.all(wave.map(run))
}

type Operation = { op: string } & Record<string, unknown>

/** Returns the operations of a batch. A choice that needs a row that the world does not have is another one. */
export function batchOf(world: World, me: string, choices: number[]): object[] {
  const [one, other] = [world.tasks[0]!, world.tasks.at(-1)!]
  const [project, member] = [world.projects[0]!, world.members[0]]
  const [subtask, comment] = [world.subtasks.at(-1), world.comments.at(-1)]
  const [label, field] = [world.labels, world.fields].map((all) =>
    all.find(({ projectId }) => projectId === project.id),
  )
  const update = (fields: object): Operation => ({ op: 'task.update', id: one.id, ...fields })
  return choices.flatMap((n): object[] => {
    const as = `a${n}`
    const create = { op: 'task.create', as, title: 'New' }
    if (n === 98) return [{ ...create, blockedByIds: [other.id] }, update({ addBlockedByIds: [`#${as}`] })]
    if (n === 99) return [create, { op: 'task.delete', id: `#${as}` }]
    const all: (Operation | false | undefined)[] = [
      { op: 'task.create', title: `B${n}` },
      update({ title: `B${n}`, status: n % 3 ? 'DONE' : 'TODO' }),
      { op: 'task.update', id: other.id, description: `B${n}`, assigneeId: n % 2 ? me : null },
      one !== other && update({ [n % 3 ? 'addBlockedByIds' : 'removeBlockedByIds']: [other.id] }),
      update({ place: n % 2 ? 'first' : 'last' }),
      one !== other && update({ after: other.id, title: `B${n}` }),
      { op: 'task.create', title: `B${n}`, before: other.id },
      { op: 'label.create', name: `B${n % 7}` },
      label && update({ addLabelIds: [label.id] }),
      label && { op: 'label.delete', id: label.id },
      { op: 'field.create', key: `k${n % 3}`, name: `B${n}`, type: n % 2 ? 'text' : 'number' },
      field && update({ fields: { [field.key!]: null } }),
      field && { op: 'field.delete', id: field.id },
      { op: 'subtask.create', taskId: one.id, title: `B${n}` },
      { op: 'comment.create', taskId: other.id, text: `B${n}` },
      { op: 'project.update', id: project.id, name: `B${n}` },
      subtask && { op: 'subtask.toggle', id: subtask.id },
      subtask && { op: 'subtask.delete', id: subtask.id },
      comment && { op: 'comment.delete', id: comment.id },
      { op: 'task.delete', id: n % 2 ? one.id : other.id },
      member && { op: 'member.remove', memberId: member.id },
    ]
    const possible = all.filter((operation) => operation)
    return [possible[n % possible.length] as Operation]
  })
}

interface Runs<T> extends fc.Parameters<T> {
  withinMs: number
  /** Says whether the cases so far included all that the test needs: few random cases may miss something. */
  isCovered?: () => boolean
}

/** More than enough: one series of cases misses something in about one of a hundred runs. */
const maxSeries = 20

/** Checks a property with as many cases as fit in `withinMs`, and waits until the last case has finished. */
export async function assertInTime<T>(
  property: fc.IAsyncProperty<T>,
  { withinMs, isCovered = () => true, ...others }: Runs<T>,
): Promise<void> {
  let last: ReturnType<typeof property.run> | undefined
  const run = property.run.bind(property)
  property.run = (value) => (last = run(value))
  try {
    for (let series = 0; series === 0 || (!isCovered() && series < maxSeries); series++)
      await fc.assert(property, { ...others, interruptAfterTimeLimit: withinMs })
  } finally {
    await last
  }
  const failure = await last
  if (failure && 'error' in failure) throw failure.error
}
