import { once } from 'node:events'
import type postgres from 'postgres'
import { Random } from '../test/faults/random.ts'
import { openClient, type Person, register } from '../test/support/client.ts'
import { openTexts } from './search-text.ts'
import { numbers } from './seed.ts'

export const searchSizes = {
  tasks: 1_000_000,
  projects: 500,
  large: 100_000,
  writers: 64,
  titleWords: 8,
  words: 46,
}
const sampledShare = 0.005
const copyCharacters = 1 << 20

/** A task whose words become searches: the words in their order, the title first. */
export interface SampledTask {
  project: number
  words: string[]
}

export interface SearchData {
  /** Owns all projects. The first project is the large one. */
  owner: Person
  /** A member of 20 small projects. */
  member: Person
  /** Members of all projects that create tasks. */
  writers: Person[]
  projects: string[]
  sampled: SampledTask[]
}

/** Inserts tasks of 46 words, one each second, in random projects. Of the events, only the newest one of each project has not expired. */
export async function insertSearchData(url: string, sql: postgres.Sql): Promise<SearchData> {
  const person = () => register(openClient(url))
  const [owner, member] = [await person(), await person()]
  const writers = await Promise.all(numbers(searchSizes.writers).map(person))
  const start = Date.now() - searchSizes.tasks * 1_000
  const projects = numbers(searchSizes.projects).map((n) => idAt(start + n))
  const sampled = await copyTasks(sql, projects, start)
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select id, ${owner.id}, 'Project ' || n, now(), uuidv7() from unnest(${projects}::uuid[]) with ordinality p(id, n)`
  await sql`insert into streams (project_id, version, last_number, last_event_id)
    select p.id, count(*) + 1, count(*), p.event_id from projects p join tasks t on t.project_id = p.id
    where p.id = any(${projects}::uuid[]) group by p.id`
  await sql`insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select p.id, version, event_id, 'project.updated', 'project', p.id, owner_id, created_at, '{"name": "Project"}',
      jsonb_build_object('id', p.id, 'name', name)
    from projects p join streams s on s.project_id = p.id where p.id = any(${projects}::uuid[])`
  await sql`insert into members (id, project_id, user_id, role, created_at, event_id)
    select uuidv7(), id, ${member.id}, 'EDITOR', now(), uuidv7() from unnest(${projects.slice(1, 21)}::uuid[]) p(id)`
  await sql`insert into members (id, project_id, user_id, role, created_at, event_id)
    select uuidv7(), p.id, w.id, 'EDITOR', now(), uuidv7()
    from unnest(${projects}::uuid[]) p(id), unnest(${writers.map(({ id }) => id)}::uuid[]) w(id)`
  await sql`vacuum analyze`
  return { owner, member, writers, projects, sampled }
}

async function copyTasks(sql: postgres.Sql, projects: string[], start: number): Promise<SampledTask[]> {
  const [{ text }, random] = [openTexts(), new Random(54_321)]
  const lastNumbers = projects.map(() => 0)
  const sampled: SampledTask[] = []
  const rows =
    await sql`copy tasks (id, project_id, number, title, description, status, priority, created_at, updated_at,
    event_id) from stdin`.writable()
  let lines = ''
  for (let n = 0; n < searchSizes.tasks; n++) {
    const isInLarge = random.chance(searchSizes.large / searchSizes.tasks)
    const project = isInLarge ? 0 : 1 + random.below(projects.length - 1)
    const words = text(searchSizes.words)
    if (random.chance(sampledShare)) sampled.push({ project, words })
    const at = start + n * 1_000
    const time = new Date(at).toISOString()
    const title = words.slice(0, searchSizes.titleWords).join(' ')
    const description = words.slice(searchSizes.titleWords).join(' ')
    const number = ++lastNumbers[project]!
    lines += `${[idAt(at), projects[project], number, title, description, 'TODO', 'MEDIUM', time, time, idAt(at)].join('\t')}\n`
    if (lines.length < copyCharacters) continue
    if (!rows.write(lines)) await once(rows, 'drain')
    lines = ''
  }
  rows.end(lines)
  await once(rows, 'close')
  return sampled
}

/** Returns a UUID of version 7 with this time. */
function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  const random = crypto.randomUUID()
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`
}
