import { cases, eventually, forFile, freshRedis, invite, makeProjects, nilId } from '../kit.ts'
import { openForEach, openPair, Random, register, runBatch, spawnService, upTo } from '../kit.ts'
import { fill } from '../large/fill.ts'
import { openLife, randomQuery, randomText, randomTitle } from './life.ts'
import { expectFound, readDocs, visibleTo } from './reference.ts'
import { indexedOf, searchIds, task } from './scene.ts'

const forEach = openForEach()
const redis = await forFile(freshRedis())
const { a, b, atA, atB, sql, env } = await openPair({ REDIS_URL: redis.url })
const startWorker = (own = {}) => forEach(spawnService('worker', { ...env, ...own }))

const faults: Record<string, () => Promise<unknown>> = {
  'a worker is killed': async () => (await startWorker({ JOB_PAUSE_MS: '20' })).stop('SIGKILL'),
  'all projects are filled again': () =>
    sql`update search_cursors set fill = ${sql.json({ task: nilId, id: nilId, number: 0 })}`,
  'Redis stops and loses its data': async () => {
    await redis.stop()
    await redis.restart('delete')
  },
}

test('searches find what was acknowledged before, and nothing deleted, also beside other writes, searches and faults', async () => {
  const lives = await Promise.all(
    upTo(4).map((seed) => openLife(new Random(seed), atA, sql, [a.url, b.url], false)),
  )
  const writes = () => lives.reduce((sum, { counts }) => sum + counts.writes, 0)
  let isOver = false
  const steps = lives.map(() => 0)
  const live = async ({ step }: (typeof lives)[number], n: number) => {
    for (; !isOver; steps[n]!++) await step()
  }
  // On a busy machine, fills that begin again every few seconds never end, so no search would find all projects indexed.
  const everyoneSearches = () => {
    const before = [...steps]
    return eventually('searches of all', () => steps.every((count, n) => count > before[n]!))
  }
  const disturb = async () => {
    await eventually('writes without a worker', () => writes() >= 100)
    await startWorker()
    for (const _ of upTo(cases(2))) {
      await everyoneSearches()
      for (const [what, happens] of Object.entries(faults)) {
        const before = writes()
        await happens()
        await eventually(`writes after ${what}`, () => writes() >= before + 50)
      }
    }
    isOver = true
  }
  await Promise.all([...lives.map(live), disturb()])
}, 600_000)

const random = new Random(26)
/** More documents than a search reads without the index of words. */
const [tasks, batches, tasksInBatch] = [20_000, 8, 300]

/** Each title has a rare word, some have an unusual one. */
const operationsOf = (batch: number) =>
  upTo(tasksInBatch).flatMap((i) => {
    const n = batch * tasksInBatch + i
    const title = `${randomTitle(random)} item${n}z ${n % 500 === 7 ? 'zebra' : ''}`.trim()
    return [
      { op: 'task.create', as: `t${i}`, title, description: randomText(random, 12) },
      ...(i % 5 ? [] : [{ op: 'comment.create', taskId: `#t${i}`, text: randomText(random, 8) }]),
      ...(i % 9 ? [] : [{ op: 'subtask.create', taskId: `#t${i}`, title: randomTitle(random) }]),
    ]
  })

const queries = `zebra;zeb;item77z;"item77z zebra";item;item11;plate zebra;zebra -plate;-zebra item507z;p zebra;plate;x;"a the";
  wheel oil;wheel -oil;図;#77;oil #77;"task 2";"task 15000"`

test('killed workers continue the first fill after an upgrade; then searches and lists in large and small projects equal the reference', async () => {
  const [ada, bea] = [await register(atA), await register(atB)]
  const [large = ''] = await makeProjects(ada, 1)
  await fill(sql, large, tasks, ada.id)
  for (const n of upTo(batches)) await runBatch(ada, large, operationsOf(n))
  // In several projects of this size, a search looks up no prefixes.
  const [small = ''] = await makeProjects(bea, 5)
  await task(bea, small, 'Zebra and plate')
  await invite(ada, large, bea, 'EDITOR')
  await sql`truncate search_documents, search_cursors`
  const seen = [await indexedOf(ada)]
  for (const _ of upTo(3)) {
    // With this pause, each worker is killed long before the end of the fill.
    const worker = await startWorker({ JOB_PAUSE_MS: '300' })
    await eventually('progress', async () => (await indexedOf(ada)) !== seen.at(-1))
    await worker.stop('SIGKILL')
    seen.push(await indexedOf(ada))
  }
  const percentages = seen.map((one) => parseInt(one!))
  expect(percentages[0]).toBe(0)
  expect(percentages).toEqual(percentages.toSorted((a, b) => a - b))
  expect(percentages.at(-1)).toBeLessThan(100)
  // A change during the fill is found at once.
  const [first] = (await ada.get(`/tasks?projectId=${large}&limit=1`)).body
  await ada.patch(`/tasks/${first!.id}`, { title: 'Primus' })
  expect(await searchIds(bea, 'primus')).toEqual([first!.id])
  expect(await searchIds(bea, '"task 1"')).not.toContain(first!.id)
  await startWorker()
  await eventually('the end of the fill', async () => (await indexedOf(bea)) === 'all')
  const docs = visibleTo(await readDocs(sql), bea.id)
  const own = [large, ...queries.split(';').map((q) => q.trim())]
  for (const q of [...own, ...upTo(cases(3)).map(() => randomQuery(random, random.pick(docs)!))])
    for (const projectId of [undefined, large, small])
      await expectFound(bea, docs, q, { projectId, types: random.pick([undefined, 'task', 'comment']) })
}, 600_000)
