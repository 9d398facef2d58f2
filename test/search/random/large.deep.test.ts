import { cases, eventually, invite, openScene, type Person, Random, upTo } from '../../kit.ts'
import { indexedOf, project, task } from '../scene.ts'
import { readCorpus, visibleDocs } from './corpus.ts'
import { expectHits, expectTasks } from './reference.ts'
import { randomQuery, randomText, randomTitle } from './texts.ts'

/** More documents than a search reads without the index of words. */
const [batches, tasksInBatch] = [40, 300]
const { sql, ada, bea } = await openScene(['Ada', 'Bea'])
const random = new Random(26)

/** Each title has a rare word, some have an unusual one. */
const titleOf = (n: number) => `${randomTitle(random)} item${n}z ${n % 500 === 7 ? 'zebra' : ''}`.trim()

async function openLarge(owner: Person): Promise<string> {
  const id = await project(owner, 'Large')
  for (let n = 0; n < batches; n++) {
    const operations = upTo(tasksInBatch).flatMap((i) => [
      {
        ...{ op: 'task.create', as: `t${i}`, title: titleOf(n * tasksInBatch + i) },
        description: randomText(random, 12),
      },
      ...(i % 5 ? [] : [{ op: 'comment.create', taskId: `#t${i}`, text: randomText(random, 8) }]),
      ...(i % 9 ? [] : [{ op: 'subtask.create', taskId: `#t${i}`, title: randomTitle(random) }]),
    ])
    expect((await owner.post(`/projects/${id}/batch`, { operations })).status).toBe(200)
  }
  return id
}

const queries = `zebra;zeb;z;item77z;"item77z zebra";item;item11;plate zebra;zebra -plate;-zebra item507z;p zebra;plate;a;x;"a the";
  wheel oil;wheel -oil;図;#77;oil #77`

test('searches and lists in a large project, alone and beside small ones, equal the reference', async () => {
  const large = await openLarge(ada)
  const small = await project(bea, 'Small')
  await task(bea, small, 'Zebra and plate')
  // In several projects of this size, a search looks up no prefixes.
  for (const n of upTo(4)) await project(bea, `Empty ${n}`)
  await invite(ada, large, bea, 'EDITOR')
  await eventually('the index', async () => (await indexedOf(bea)) === 'all')
  const docs = visibleDocs(await readCorpus(sql), bea.id)
  const own = [large, ...queries.split(';').map((q) => q.trim())]
  for (const q of [...own, ...upTo(cases(3)).map(() => randomQuery(random, random.pick(docs)!))])
    for (const projectId of [undefined, large, small]) {
      await expectHits(bea, docs, q, { projectId, types: random.pick([undefined, 'task', 'comment']) })
      await expectTasks(bea, docs, q, projectId)
    }
}, 600_000)
