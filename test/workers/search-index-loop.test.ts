import { expect, spyOn, test } from 'bun:test'
import type { IsLate } from '../../modules/search/indexing/moves.ts'
import { maxHeldSteps, openSteps } from '../../modules/search/indexing/step.ts'
import { ChangedProjects } from '../../workers/search/changed-projects.ts'
import { openIndexLoop } from '../../workers/search/index-loop.ts'
import { eventually, makeProjects } from '../races/pair.ts'
import { openScene } from '../support/scene.ts'

const { ada, sql } = await openScene(['Ada'])

test('a project that always has more changes does not delay other projects', async () => {
  const [busy = '', calm = ''] = await makeProjects(ada, 2)
  const changed = new ChangedProjects()
  const indexed: string[] = []
  let isActive = true
  const steps = {
    ...openSteps(sql),
    async indexChanges(projectIds: string[]) {
      indexed.push(...projectIds)
      changed.add(calm)
      return { left: [busy], held: [], filling: [] }
    },
  }
  const warn = (error: unknown) => indexed.push(String(error))
  const loop = openIndexLoop({ sql, steps, changed, isActive: () => isActive, pauseMs: 1, warn })
  changed.add(busy)
  loop.wake()
  await eventually('the other project', async () => indexed.includes(calm)).finally(() => (isActive = false))
  await loop.stop()
  expect(indexed.filter((id) => id === busy).length).toBeGreaterThan(1)
})

test('a project waits for the new project of a moved task, however long the steps take', async () => {
  const [held = ''] = await makeProjects(ada, 1)
  const changed = new ChangedProjects()
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const late: boolean[] = []
  const realNow = performance.now.bind(performance)
  using now = spyOn(performance, 'now')
  const steps = {
    ...openSteps(sql),
    async indexChanges(projectIds: string[], _?: Map<string, number>, isLate?: IsLate) {
      late.push(isLate!(held))
      const passedMs = late.length * 3_600_000
      now.mockImplementation(() => realNow() + passedMs)
      if (!late.at(-1)) return { left: projectIds, held: projectIds, filling: [] }
      end()
      return { left: [], held: [], filling: [] }
    },
  }
  const loop = openIndexLoop({ sql, steps, changed, isActive: () => true, pauseMs: 0, warn: end })
  changed.add(held)
  loop.wake()
  await isOver
  await loop.stop()
  expect(late).toEqual([...Array<boolean>(maxHeldSteps).fill(false), true])
})
