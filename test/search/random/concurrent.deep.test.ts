import { expect, test } from 'bun:test'
import { makeProjects, openPair } from '../../races/pair.ts'
import { cases } from '../../support/depth.ts'
import { forFile, spawnService } from '../../support/service.ts'
import { openFacts, writeAndCheck } from './facts.ts'

const pair = await openPair()
const { atA, atB, env } = pair
const writes = cases(120)

async function expectFresh(): Promise<void> {
  const facts = openFacts([atA, atB], await makeProjects(atA, 3))
  await writeAndCheck(facts, writes)
  await facts.checkAll()
  const { checked, unknown } = facts.counts()
  expect(checked).toBeGreaterThan(writes)
  expect(unknown).toBe(0)
}

test('without a worker, a search finds everything that was acknowledged before, and nothing that was deleted', () =>
  expectFresh())

test('with a worker, a search finds everything that was acknowledged before, and nothing that was deleted', async () => {
  await forFile(spawnService('worker', env))
  await expectFresh()
})
