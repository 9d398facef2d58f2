import { expect, test } from 'bun:test'
import { migrate } from '../../../drizzle/migrate.ts'
import { openPostgres } from '../../faults/postgres-server.ts'
import { eventually, makeProjects, openPair, type Pair } from '../../races/pair.ts'
import { cases } from '../../support/depth.ts'
import { freshRedis } from '../../support/redis.ts'
import { forFile, newFolder, spawnService } from '../../support/service.ts'
import { type Facts, openFacts, writeAndCheck } from './facts.ts'

async function openFactsAt({ atA, atB }: Pair, allowed: (number | undefined)[] = []): Promise<Facts> {
  return openFacts([atA, atB], await makeProjects(atA, 3), allowed)
}

/** Writes and searches until `faults` has ended. */
async function during(facts: Facts, faults: () => Promise<void>): Promise<void> {
  let isOver = false
  const loop = async () => {
    while (!isOver) await writeAndCheck(facts, 40)
  }
  await Promise.all([loop(), faults().finally(() => (isOver = true))])
}

const acknowledged = async ({ counts }: Facts, more: number) => {
  const from = counts().facts
  await eventually(`${more} more writes`, () => counts().facts >= from + more)
}

for (const withWorker of [false, true])
  test(`with${withWorker ? '' : 'out'} a worker, a search finds what was acknowledged before, and nothing deleted`, async () => {
    const pair = await openPair()
    if (withWorker) await forFile(spawnService('worker', pair.env))
    const facts = await openFactsAt(pair)
    await writeAndCheck(facts, cases(120))
    await facts.checkAll()
    expect(facts.counts().checked).toBeGreaterThan(cases(120))
    expect(facts.counts().unknown).toBe(0)
  }, 600_000)

test('searches are complete while workers are killed in bursts of writes', async () => {
  const pair = await openPair()
  const facts = await openFactsAt(pair)
  await during(facts, async () => {
    for (let n = 0; n < 6; n++) {
      const worker = await forFile(spawnService('worker', pair.env))
      await acknowledged(facts, 100)
      await worker.stop('SIGKILL')
      await acknowledged(facts, 50)
    }
  })
  await facts.checkAll()
  await forFile(spawnService('worker', pair.env))
  await facts.checkAll()
  expect(facts.counts()).toMatchObject({ unknown: 0 })
}, 600_000)

test('searches are complete without Redis, and after Redis has lost its data', async () => {
  const redis = await forFile(freshRedis())
  const pair = await openPair({ REDIS_URL: redis.url })
  await forFile(spawnService('worker', pair.env))
  const facts = await openFactsAt(pair)
  await during(facts, async () => {
    await acknowledged(facts, 100)
    await redis.stop()
    await acknowledged(facts, 100)
    await redis.restart('delete')
    await acknowledged(facts, 100)
  })
  await facts.checkAll()
}, 600_000)

test('searches are complete after Postgres has crashed and recovered', async () => {
  const postgres = await forFile(openPostgres(await newFolder()))
  await migrate(postgres.url)
  const pair = await openPair({ DATABASE_URL: postgres.url })
  await forFile(spawnService('worker', pair.env))
  const facts = await openFactsAt(pair, [503, undefined])
  await during(facts, async () => {
    for (let n = 0; n < 3; n++) {
      await acknowledged(facts, 100)
      await postgres.stopImmediately()
      await postgres.start()
      await eventually('a search', async () => (await pair.atA.get('/search?q=x')).status === 200)
    }
    await acknowledged(facts, 100)
  })
  await eventually(
    'a search at the other process',
    async () => (await pair.atB.get('/search?q=x')).status === 200,
  )
  await facts.checkAll()
}, 600_000)
