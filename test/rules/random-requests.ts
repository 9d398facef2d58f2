import fc from 'fast-check'
import type { Person } from '../kit.ts'
import { type Step, type Verb, verbs } from './verbs.ts'
import { emptyWorld } from './world.ts'

const often = [
  'createTask',
  'changeTask',
  'placeTask',
  'labelTask',
  'createLabel',
  'setValues',
  'createField',
  'moveTask',
  'thereAndBack',
  'addSubtask',
  'toggleSubtask',
  'addComment',
  'undo',
] as const
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

export const assigneeHasLeft = (['assignTask', 'removeMember'] as const).map((verb): Step[] => [
  { verb, who: 0, process: 0, pick: 0, other: 2, value: 0 },
])

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
