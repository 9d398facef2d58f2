import { test } from 'bun:test'
import { Random } from '../../faults/random.ts'
import { eventually } from '../../races/pair.ts'
import { invite, make, type Person } from '../../support/client.ts'
import { cases } from '../../support/depth.ts'
import { openScene } from '../../support/scene.ts'
import { readCorpus, visibleDocs } from './corpus.ts'
import { expectHits, expectTasks } from './searches.ts'
import { randomQuery, randomText, randomTitle } from './texts.ts'

/** More documents than a search reads without the index of words. */
const [batches, tasksInBatch] = [40, 300]
const queries = cases(3)

const { sql, ada, bea } = await openScene(['Ada', 'Bea'])
const random = new Random(26)

async function openLarge(owner: Person): Promise<string> {
  const { id } = await make(owner, '/projects', { name: 'Large' })
  for (let n = 0; n < batches; n++) {
    const operations = Array.from({ length: tasksInBatch }, (_, i) => [
      {
        op: 'task.create',
        as: `t${i}`,
        title: titleOf(n * tasksInBatch + i),
        description: randomText(random, 12),
      },
      ...(i % 5 ? [] : [{ op: 'comment.create', taskId: `#t${i}`, text: randomText(random, 8) }]),
      ...(i % 9 ? [] : [{ op: 'subtask.create', taskId: `#t${i}`, title: randomTitle(random) }]),
    ]).flat()
    const { status, text } = await owner.post(`/projects/${id}/batch`, { operations })
    if (status !== 200) throw new Error(text)
  }
  return id
}

/** Each title has a rare word, some have an unusual one. */
const titleOf = (n: number) => `${randomTitle(random)} item${n}z ${n % 500 === 7 ? 'zebra' : ''}`.trim()

test('searches and lists in a large project, alone and beside small ones, equal the reference', async () => {
  const large = await openLarge(ada)
  const small = await make(bea, '/projects', { name: 'Small' })
  await make(bea, '/tasks', { projectId: small.id, title: 'Zebra and plate' })
  await invite(ada, large, bea, 'EDITOR')
  const indexed = async () => (await bea.get('/search?q=nothing')).headers.get('docket-indexed')
  await eventually('the first fill', async () => (await indexed()) === 'all')
  const corpus = await readCorpus(sql)
  const docs = visibleDocs(corpus, bea.id)
  const own = [
    ...[
      'zebra',
      'zeb',
      'z',
      'item77z',
      '"item77z zebra"',
      'item',
      'item11',
      'plate zebra',
      'zebra -plate',
      '-zebra item507z',
      'p zebra',
    ],
    ...['plate', 'a', 'x', '"a the"', 'wheel oil', 'wheel -oil', '図', '#77', 'oil #77', large],
  ]
  for (const q of [...own, ...Array.from({ length: queries }, () => randomQuery(random, random.pick(docs)!))])
    for (const projectId of [undefined, large, small.id]) {
      await expectHits(bea, docs, q, { projectId, types: random.pick([undefined, 'task', 'comment']) })
      await expectTasks(bea, docs, q, projectId)
    }
}, 600_000)
