import { expect, test } from 'bun:test'
import { openSteps } from '../../modules/search/indexing/step.ts'
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
      return { left: [busy], filling: [] }
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
