import { parseArgs } from 'node:util'

export interface Options {
  rounds: number
  seconds: number
  /** Prefixes of scenario names; empty for all. */
  only: string[]
  /** Another server with the same interface, to compare with. */
  peer?: string
  /** Tasks of the project that is deleted under load. */
  tasks: number
  out: string
}

const overloadSeconds = 60
export const usage = `bun run bench [--rounds 3] [--seconds 5] [--quick] [--only create,get,…]
  [--peer http://localhost:3000] [--tasks 200000] [--out bench]
--only overload lets 2,000 connections ask all at once, as a rule for ${overloadSeconds} seconds;
--only filters lists 1,000,000 tasks with each filter, one request at a time;
--only search fills the search index with 1,000,000 tasks and searches them, also beside 8,000 creates a second;
--only import imports 100,000 tasks with a comment each beside another client, and exports them;
--only claims lets 64 workers claim tasks from one project of 100,000 ready tasks;
--only feed follows projects, with 10,000 idle streams and 500 busy ones, and writes in batches;
--only fair measures a normal account during floods of another account, or one flood of them: fair-creates, fair-past, …;
--only webhooks delivers 1,000 creates a second to 1,000 webhooks.`

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string' },
      peer: { type: 'string' },
      tasks: { type: 'string' },
      out: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  })
  const { quick } = values
  const only = values.only?.split(',').filter(Boolean) ?? []
  const seconds = quick ? 2 : only.includes('overload') ? overloadSeconds : 5
  return {
    rounds: whole('rounds', values.rounds, quick ? 1 : 3),
    seconds: whole('seconds', values.seconds, seconds),
    only,
    peer: values.peer?.replace(/\/+$/, ''),
    tasks: whole('tasks', values.tasks, 200_000),
    // A partial or quick run must not replace the results of a full run.
    out: values.out ?? (quick || only.length ? 'bench/out' : 'bench'),
  }
}

function whole(name: string, value: string | undefined, fallback: number): number {
  if (value === undefined) return fallback
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value)
  throw new Error(`--${name} must be a whole number from 1, not "${value}"`)
}
