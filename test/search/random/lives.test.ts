import { at, cases, invite, make, openPair, type Person, Random, register } from '../../kit.ts'
import { type Corpus, type Doc, readCorpus, visibleDocs } from './corpus.ts'
import { type Life, writeRandomly } from './life.ts'
import { randomQuery } from './texts.ts'
import { expectHits, expectTasks } from './reference.ts'

/** A life ends after so many writes and searches with hits. */
const [writes, minFound] = [50, 25]
const lives = cases(2)
const searchesEach = 2

const pair = await openPair()
const { atA, sql } = pair

async function openLife(seed: number): Promise<Life> {
  const people = [await register(atA, 'Ada'), await register(atA, 'Bea'), await register(atA, 'Cy')]
  for (const owner of people) {
    const { id } = await make(owner, '/projects', { name: 'Engine' })
    for (const one of people.slice(0, 2)) if (one !== owner) await invite(owner, id, one, 'ADMIN')
  }
  return { random: new Random(seed), sql, people, corpus: await corpusOf(people) }
}

/** Returns the rows of all projects that one of the people may see. */
async function corpusOf(people: Person[]): Promise<Corpus> {
  const { docs, readers } = await readCorpus(sql)
  const isOwn = ({ projectId }: Doc) => people.some(({ id }) => readers.get(projectId)!.includes(id))
  return { docs: docs.filter(isOwn), readers }
}

const types = [undefined, undefined, 'task', 'comment', 'project', 'task,comment', 'project,task']

/** Searches as one of the users at one of the processes, and compares with the reference. */
async function searchRandomly({ random, people, corpus }: Life, rows: Doc[]): Promise<number> {
  const who = at(random.pick(people)!, random.pick([pair.a, pair.b])!)
  const docs = visibleDocs(corpus, who.id)
  const q = randomQuery(random, random.pick(docs.length > 0 && random.chance(0.8) ? docs : rows)!)
  const project = random.chance(0.2) ? random.pick(docs)?.projectId : undefined
  if (random.chance(0.5)) return expectTasks(who, docs, q, project)
  return expectHits(who, docs, q, { projectId: project, types: random.pick(types) })
}

test(`at two processes, each search after a write has exactly the hits of the reference: ${lives} lives`, async () => {
  for (let n = 0; n < lives; n++) {
    const seed = Number(process.env.SEARCH_SEED ?? Math.floor(Math.random() * 1_000_000))
    const life = await openLife(seed)
    const history: string[] = []
    try {
      for (let found = 0; history.length < writes || found < minFound;) {
        const before = life.corpus.docs
        history.push(
          await writeRandomly(life, at(life.random.pick(life.people)!, life.random.pick([pair.a, pair.b])!)),
        )
        life.corpus = await corpusOf(life.people)
        // Rows that have just been deleted or changed are looked for too.
        const rows = [...life.corpus.docs, ...before]
        for (let s = 0; s < searchesEach; s++) if ((await searchRandomly(life, rows)) > 0) found++
      }
    } catch (error) {
      console.log(`SEARCH_SEED=${seed}, write ${history.length}: ${history.slice(-8).join(', ')}`)
      throw error
    }
  }
}, 600_000)
