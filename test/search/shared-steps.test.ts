import { expect, test } from 'bun:test'
import { SharedSteps } from '../../modules/search/indexing/shared-steps.ts'

const hour = 3_600_000

const open = (step: ConstructorParameters<typeof SharedSteps>[1], limits = { projects: 3, slots: 2 }) => {
  const steps = new SharedSteps(limits, step)
  return (projectId: string, target = 1, endsAt = performance.now() + hour) =>
    steps.next({ projectId, target, endsAt, isLate: false })
}

test('readers share steps, and a project is in one step at a time', async () => {
  const steps: string[][] = []
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const next = open(async (projectIds) => {
    steps.push(projectIds)
    await end
    return { left: [], held: [], filling: ['b'] }
  })
  const first = ['a', 'b', 'a'].map((id) => next(id))
  await Bun.sleep(0)
  const later = ['a', 'c', 'd', 'e', 'f'].map((id) => next(id))
  await Bun.sleep(0)
  expect(steps).toEqual([
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
  resolve()
  expect((await Promise.all(first)).map(({ isFilling }) => isFilling)).toEqual([false, true, false])
  await Promise.all(later)
  expect(steps[2]).toEqual(['a', 'f'])
})

test('a project that waits for another project does not delay the other readers of the step', async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const steps: string[][] = []
  const next = open(async (projectIds) => {
    steps.push(projectIds)
    if (steps.length === 1) return { left: ['moved', 'target'], held: ['moved'], filling: [] }
    await end
    return { left: [], held: [], filling: [] }
  })
  const [moved, calm] = [next('moved'), next('calm')]
  expect(await calm).toEqual({ isLeft: false, isHeld: false, isFilling: false })
  expect(steps[1]).toEqual(['moved', 'target'])
  resolve()
  expect(await moved).toEqual({ isLeft: false, isHeld: false, isFilling: false })
})

test('an error only fails the readers of its step, and a reader stops waiting after its time', async () => {
  const next = open(
    async ([id]) => {
      if (id === 'bad') throw new Error('bad')
      return { left: id === 'busy' ? ['busy'] : [], held: [], filling: [] }
    },
    { projects: 1, slots: 1 },
  )
  const all = await Promise.allSettled([next('bad'), next('busy'), next('late', 1, 0), next('calm')])
  expect(all.map((one) => (one.status === 'fulfilled' ? one.value.isLeft : one.status))).toEqual([
    'rejected',
    true,
    true,
    false,
  ])
})
