import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { forFile, freshDatabase, nextPath, openTestService, type Person, register } from '../kit.ts'

/** A node of an executed plan (EXPLAIN ANALYZE, format JSON). */
interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Node[]
}

export interface Cost {
  /** Rows read from `tasks` (all tables: `rows`), including rows that a filter removed. */
  taskRows: number
  rows: number
  sortedRows: number
  /** Pages of 8 KiB, from memory or disk. */
  blocks: number
  scans: string[]
}

const settings = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_format': 'json',
}

let database = ''

/** Adds settings to the URL of this file's database, so that Postgres logs the executed plan of every statement. */
export function explained(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  database = url.pathname.slice(1)
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value)
  return url.href
}

export async function openExplained() {
  const { url } = await forFile(freshDatabase())
  const env = { DATABASE_URL: explained(url), BACKGROUND_TIMEOUT_MS: '600000' }
  const service = await forFile(openTestService(env))
  const sql = service.services.database.background
  // An analysis while a test runs would change the plans.
  for (const table of ['tasks', 'events', 'comments', 'subtasks'])
    await sql`alter table ${sql(table)} set (autovacuum_enabled = off)`
  return { service, sql, owner: await register(service.client) }
}

export const costOfGet = (user: Person, path: string): Promise<Cost> =>
  costOf(async () => expect(await user.get(path)).toMatchObject({ status: 200 }))

/** Returns the cost of the statements of `work`. Nothing else may use the database meanwhile. */
export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const log = await open(join(process.env.TEST_DATA_DIR!, 'postgres.log'))
  try {
    const { size: before } = await log.stat()
    await work()
    const { size: after } = await log.stat()
    const { buffer } = await log.read(Buffer.alloc(after - before), 0, after - before, before)
    return sum(plansIn(buffer.toString()).flatMap(nodesOf))
  } finally {
    await log.close()
  }
}

/** Reads the pages of a list, until the last page or `count` rows. Returns the ids of the rows, and the cost of each page. */
export async function readPages(user: Person, path: string, count = Infinity) {
  const [ids, costs]: [string[], Cost[]] = [[], []]
  for (let next: string | undefined = path; next && ids.length < count;) {
    const here: string = next
    const read = async () => {
      const { status, body, headers } = await user.get(here)
      expect(status).toBe(200)
      ids.push(...body.map(({ id }) => id))
      next = nextPath(headers)
    }
    costs.push(await costOf(read))
  }
  return { ids, costs }
}

/** Returns the plans in the log of Postgres, without the query for revoked tokens, which runs twice a second. */
function plansIn(log: string): Node[] {
  const entries = log.matchAll(new RegExp(`\\] ${database} LOG: .*plan:\\n((?:\\t.*\\n)+)`, 'g'))
  return Array.from(entries, ([, json]) => JSON.parse(json!)).flatMap(({ 'Query Text': text, Plan }) =>
    text.includes('revoked_tokens') ? [] : [Plan],
  )
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

function sum(nodes: Node[]): Cost {
  const cost: Cost = { taskRows: 0, rows: 0, sortedRows: 0, blocks: 0, scans: [] }
  for (const node of nodes) {
    const { 'Actual Loops': loops, 'Rows Removed by Filter': removed = 0, Plans: inputs = [] } = node
    if (node['Relation Name']) cost.scans.push(node['Node Type'])
    const looked = node['Node Type'].includes('Scan') ? (node['Actual Rows'] + removed) * loops : 0
    if (node['Relation Name']) cost.rows += looked
    if (node['Relation Name'] === 'tasks') cost.taskRows += looked
    if (node['Node Type'].includes('Sort')) cost.sortedRows += inputs[0]!['Actual Rows'] * loops
    // The pages of a node include the pages of its inputs.
    const blocks = (of: Node) => of['Shared Hit Blocks'] + of['Shared Read Blocks']
    cost.blocks += blocks(node) - inputs.reduce((all, input) => all + blocks(input), 0)
  }
  return cost
}
