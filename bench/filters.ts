import { openClient } from '../test/support/client.ts'
import { type Probe, tenths } from './probe.ts'
import { newUser } from './seed.ts'
import type { Servers } from './servers.ts'
import { openTimes } from './usage.ts'

const [projectCount, tasksEach, labelsEach] = [500, 2_000, 10]
const counts = { warmUp: 20, measured: 200 }
const below = (n: number) => Math.floor(Math.random() * n)

/** A project with two of its labels, and a task that blocks others. */
interface Place {
  project: string
  label: string
  other: string
  blocker: string
}

/** Each request chooses other values, so that no response comes from a cache. */
const filtersOfAll: Record<string, (place: Place) => string> = {
  none: () => 'sort=createdAt',
  labels: ({ label }) => `labels=${label}`,
  anyLabel: ({ label, other }) => `anyLabel=${label},${other}`,
  noLabel: () => 'noLabel=true',
  blocks: ({ blocker }) => `blocks=${blocker}`,
  ready: () => 'ready=true',
  'claimedBy=me': () => 'claimedBy=me',
  'claimedBy=none': () => 'claimedBy=none',
}
const filtersOfProject: typeof filtersOfAll = {
  externalId: () => `externalId=X-${below(tasksEach)}`,
  'field.estimate': () => `field.estimate=${below(100)}`,
  'field.estimate.min': () => `field.estimate.min=${below(100)}`,
  'field.start.max': () => `field.start.max=${2027 + below(3)}-06-01`,
  'field.size': () => `field.size=${'SML'[below(3)]}`,
}

/** The first page of each filter, with 1,000,000 tasks of one user in 500 projects. */
export const filters: Probe = {
  name: 'filters',
  async measure({ servers }) {
    await servers.web(1)
    const { token, ownerId } = await newUser(servers.url)
    const places = await insertTasks(servers.sql, ownerId)
    const client = openClient(servers.url, token)
    const measure = async (query: (place: Place) => string) => {
      const times = openTimes()
      for (let n = 0; n < counts.warmUp + counts.measured; n++) {
        const path = `/tasks?limit=50&${query(places[below(places.length)]!)}`
        const request = () => client.get(path)
        const { status } = await (n < counts.warmUp ? request() : times.of(request))
        if (status !== 200) throw new Error(`GET ${path} was answered ${status}`)
      }
      return { p50Ms: times.ms(50), p95Ms: times.ms(95) }
    }
    const figures: { filter: string; project: Percentiles; all?: Percentiles }[] = []
    for (const [filter, query] of Object.entries({ ...filtersOfAll, ...filtersOfProject })) {
      const project = await measure((place) => `${query(place)}&projectId=${place.project}`)
      figures.push({ filter, project, ...(filter in filtersOfAll && { all: await measure(query) }) })
    }
    const head = ['first page of 50, ms', 'one project: p50', 'p95', '500 projects: p50', 'p95']
    const rows = figures.map(({ filter, project, all }) => [filter, ...cells(project), ...cells(all)])
    return { table: { head, rows }, figures }
  },
}

interface Percentiles {
  p50Ms: number
  p95Ms: number
}

const cells = (of?: Percentiles) => (of ? [tenths(of.p50Ms), tenths(of.p95Ms)] : ['–', '–'])

/**
 * Inserts the tasks in the order of their creation, which is not the order of projects. A quarter of the tasks has no
 * label, a fifth has blockers, half are DONE, and a thousand are claimed.
 */
async function insertTasks(sql: Servers['sql'], userId: string): Promise<Place[]> {
  await sql`with made as (insert into projects (id, owner_id, name, created_at, event_id)
      select uuidv7(), ${userId}, 'P' || n, now(), uuidv7() from generate_series(1, ${projectCount}::int) n returning id)
    insert into streams (project_id, version, last_number) select id, 1, ${tasksEach} from made`
  await sql`insert into labels (id, project_id, name, created_at, event_id)
    select uuidv7(), id, 'L' || n, now(), uuidv7() from projects, generate_series(1, ${labelsEach}::int) n where owner_id = ${userId}`
  await sql`insert into task_fields (id, project_id, key, name, type, options, created_at, event_id)
    select uuidv7(), id, f.key, f.key, f.type, f.options::jsonb, now(), uuidv7() from projects,
      (values ('estimate', 'number', null), ('start', 'date', null), ('size', 'choice', '["S", "M", "L"]')) f(key, type, options)
    where owner_id = ${userId}`
  await sql`insert into tasks (id, project_id, number, title, status, priority, due_date, assignee_id, created_at,
      updated_at, event_id, label_ids, fields, external_id, claimed_by, claimed_until, claim_seq)
    with p as (select id, (row_number() over ())::int - 1 as at, array(select l.id from labels l where l.project_id = p.id)
      as labels from projects p where owner_id = ${userId})
    select uuidv7(), p.id, n / ${projectCount}::int + 1, 'Task ' || n, (array['TODO', 'IN_PROGRESS', 'DONE', 'DONE'])[1 + floor(r * 4)::int],
      (array['LOW', 'MEDIUM', 'HIGH'])[1 + n % 3], case when n % 2 = 0 then now() + n * interval '1 minute' end,
      case when n % 4 = 0 then ${userId}::uuid end, now(), now(), uuidv7(),
      case when r < 0.25 then null else array[p.labels[1 + floor(s * ${labelsEach}::int)::int]] end,
      jsonb_build_object('estimate', floor(s * 100),
        'start', jsonb_build_object('date', to_char(date '2027-01-01' + (s * 1000)::int, 'YYYY-MM-DD')),
        'size', jsonb_build_object('choice', (array['S', 'M', 'L'])[1 + floor(s * 3)::int])),
      'X-' || n / ${projectCount}::int, case when n % 1009 = 0 then ${userId}::uuid end,
      case when n % 1009 = 0 then now() + interval '1 day' end, case when n % 1009 = 0 then 1 end
    from (select n, random() as r, random() as s from generate_series(0, ${projectCount * tasksEach - 1}::int) n) g
    join p on p.at = n % ${projectCount}::int order by n`
  await sql`update tasks t set blocked_by_ids = array[b.id, c.id] from tasks b join tasks c using (project_id)
    where b.project_id = t.project_id and t.number % 5 = 0 and t.number > 5 and b.number = t.number / 2 and c.number = t.number / 3`
  await sql`vacuum analyze`
  return sql<Place[]>`select p.id as project, l.ids[1] as label, l.ids[2] as other, b.id as blocker
    from projects p cross join lateral (select array_agg(id) as ids from labels where project_id = p.id) l
    join tasks b on b.project_id = p.id and b.number = 50 where p.owner_id = ${userId}`
}
