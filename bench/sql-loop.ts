import postgres from 'postgres'
import type { LimitRun } from './limit.ts'

export interface LimitScript {
  share: number
  text: string
}

const warmUpMs = 1_000

type Variables = Record<string, string | number>
type Step = (sql: postgres.Sql, variables: Variables) => Promise<void>

/** Runs pgbench scripts. Supports `\set` with random() or a number, and `\gset`. */
export async function runLoop(
  databaseUrl: string,
  scripts: LimitScript[],
  clients: number,
  seconds: number,
): Promise<LimitRun> {
  const connection = { plan_cache_mode: 'force_generic_plan', jit: 'off' } as Record<string, string>
  const open = () => postgres(databaseUrl, { max: 1, connection, fetch_types: false })
  const connections = Array.from({ length: clients }, open)
  await Promise.all(connections.map((sql) => sql`select 1`))
  const slots = scripts.flatMap(({ share, text }) => new Array<Step[]>(share).fill(readScript(text)))
  const start = performance.now() + warmUpMs
  let [requests, failed] = [0, '']
  const loop = async (client: postgres.Sql) => {
    while (performance.now() - start < seconds * 1000 && !failed) {
      const variables: Variables = {}
      for (const step of slots[Math.floor(Math.random() * slots.length)]!) await step(client, variables)
      if (performance.now() > start) requests++
    }
  }
  await Promise.all(connections.map(loop)).catch((error: Error) => (failed = error.message))
  const perSecond = requests / ((performance.now() - start) / 1000)
  await Promise.all(connections.map((sql) => sql.end({ timeout: 1 })))
  return { requests, perSecond, errors: failed ? [failed] : [] }
}

function readScript(text: string): Step[] {
  const sets = [...text.matchAll(/^\\set (\w+) (.+)$/gm)].map(([, name = '', value = '']) =>
    setter(name, value),
  )
  const statements = text
    .replace(/^\\set .+$/gm, '')
    .split(/(?<=\\gset)\n|;\n/)
    .map((statement) => statement.trim())
    .filter(Boolean)
  return [...sets, ...statements.map(execution)]
}

function setter(name: string, value: string): Step {
  const [low = Number(value), high = low] = /^random\((\d+), (\d+)\)$/.exec(value)?.slice(1).map(Number) ?? []
  return async (_, variables) => {
    variables[name] = low + Math.floor(Math.random() * (high - low + 1))
  }
}

function execution(statement: string): Step {
  const names: string[] = []
  const keeps = statement.endsWith('\\gset')
  // `:name` becomes a parameter; `::type` is a cast.
  const text = statement.replace(/\s*\\gset$/, '').replace(/(?<!:):(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return async (sql, variables) => {
    const values = names.map((name) => variables[name]!)
    const [row] = await sql.unsafe(text, values, { prepare: true })
    if (keeps) for (const [name, value] of Object.entries(row ?? {})) variables[name] = plain(value)
  }
}

const plain = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value))
