import { once } from 'node:events'
import { join } from 'node:path'
import type postgres from 'postgres'
import { Random } from '../test/faults/random.ts'
import { eachOf, numbers } from './probe.ts'
import { newUser, type Owner } from './seed.ts'
import type { Servers } from './servers.ts'

export const size = { tasks: 1_000_000, projects: 500, large: 100_000, words: 46, titleWords: 8 }
const [wordCount, writerCount, labelsEach, dayMs] = [60_000, 64, 10, 86_400_000]

/** A task whose words become searches: the words in their order, the title first. */
interface SampledTask {
  project: number
  words: string[]
}

export interface Project {
  id: string
  labels: string[]
  tasks: string[]
}

/** 1,000,000 tasks in 500 projects, one created each second. The first project has 100,000 tasks. */
export interface LargeData {
  /** Owns all projects. */
  owner: Owner
  /** A member of 20 small projects. */
  member: Owner
  /** Members of all projects that create tasks. */
  writers: Owner[]
  projects: Project[]
  sampled: SampledTask[]
}

let inserted: Promise<LargeData> | undefined

/** Inserts the data at the first call. */
export const openLargeData = (servers: Servers): Promise<LargeData> => (inserted ??= insertData(servers))

async function insertData({ url, sql }: Servers): Promise<LargeData> {
  const [owner, member, ...writers] = await eachOf(numbers(writerCount + 2), () => newUser(url))
  const start = Date.now() - size.tasks * 1_000
  const projects = numbers(size.projects).map((n) => ({
    ...{ id: idAt(start + n), labels: numbers(labelsEach).map((label) => idAt(start + label)) },
    tasks: [],
  }))
  const sampled = await copyTasks(sql, { owner: owner!, projects, start })
  const ids = projects.map(({ id }) => id)
  const labels = projects.flatMap((one) => one.labels)
  const members = [member!, ...writers].map(({ ownerId }) => ownerId)
  const given = [owner!.ownerId, ids, labels, labelsEach, members]
  await sql.file(join(import.meta.dirname, 'data/projects.sql'), given)
  await sql`vacuum analyze`
  return { owner: owner!, member: member!, writers, projects, sampled }
}

type Given = Pick<LargeData, 'owner' | 'projects'> & { start: number }

/** A fifth of the tasks has blockers, a quarter no label, half are DONE, and a thousand are claimed. */
async function copyTasks(sql: postgres.Sql, { owner: { ownerId }, projects, start }: Given) {
  const [words, random] = [openWords(), new Random(54_321)]
  const sampled: SampledTask[] = []
  const stream =
    await sql`copy tasks (id, project_id, number, title, description, status, priority, created_at, updated_at, event_id,
    external_id, due_date, assignee_id, label_ids, fields, claimed_by, claimed_until, claim_seq, blocked_by_ids) from stdin`.writable()
  const tomorrow = new Date(Date.now() + dayMs).toISOString()
  for (let n = 0; n < size.tasks; n++) {
    const at = random.chance(size.large / size.tasks) ? 0 : 1 + random.below(projects.length - 1)
    const { id: projectId, labels, tasks } = projects[at]!
    const text = words(size.words)
    if (random.chance(0.005)) sampled.push({ project: at, words: text })
    const [id, time] = [idAt(start + n * 1_000), new Date(start + n * 1_000).toISOString()]
    const number = tasks.push(id)
    const [title, description] = [text.slice(0, size.titleWords), text.slice(size.titleWords)]
    const due = new Date(start + n * 60_000).toISOString()
    const day = new Date(Date.UTC(2027, 0, random.below(1_000))).toISOString().slice(0, 10)
    const choice = random.pick(['S', 'M', 'L'])
    const values = { estimate: random.below(100), start: { date: day }, size: { choice } }
    const blockers = [tasks[(number >> 1) - 1], tasks[Math.floor(number / 3) - 1]]
    const claim = [ownerId, tomorrow, 1]
    const line = [
      ...[id, projectId, number, title.join(' '), description.join(' ')],
      ...[random.pick(['TODO', 'IN_PROGRESS', 'DONE', 'DONE']), random.pick(['LOW', 'MEDIUM', 'HIGH'])],
      ...[time, time, id],
      ...[`X-${number}`, n % 2 ? null : due, n % 4 ? null : ownerId],
      ...[random.chance(0.25) ? null : `{${random.pick(labels)}}`, JSON.stringify(values)],
      ...(n % 1_009 ? [null, null, null] : claim),
      number % 5 || number < 10 ? null : `{${blockers.join()}}`,
    ]
    const isFull = !stream.write(`${line.map((value) => value ?? '\\N').join('\t')}\n`)
    if (isFull) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'close')
  return sampled
}

/** Returns a UUID of version 7 with this time. */
function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`
}

const syllables = 'ba ne ti ro ka mu se lo di pa ve gi fo ru ta xe ly wo hi cu'.split(' ')
const endings = 'nsrt'

/** Returns a function that returns words whose frequencies follow the law of Zipf; the same words in each run. */
export function openWords(): (count: number) => string[] {
  const random = new Random(12_345)
  const words = new Set<string>()
  while (words.size < wordCount) {
    const length = 1 + random.below(4) + (words.size > 200 ? 1 : 0)
    const stem = Array.from({ length }, () => syllables[random.below(syllables.length)]).join('')
    words.add(stem + (random.chance(0.3) ? endings[random.below(endings.length)] : ''))
  }
  const list = [...words]
  // The sum of 1 / n is nearly the logarithm of n, so an equal choice of logarithms takes word n with the weight 1 / n.
  const word = () => list[Math.floor(wordCount ** random.next()) - 1]!
  return (count) => Array.from({ length: count }, word)
}
