import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type Plan, planText } from './plan.ts'
import { runTool, versionOf } from './tool.ts'

/** The result of a run. A run with errors is not used. */
export interface LoadRun {
  requests: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  shed: number
  errors: string[]
}

interface Load {
  url: string
  plan: string
  connections: number
  seconds: number
  mayShed?: boolean
}

export interface Loader {
  name: string
  run(load: Load): Promise<LoadRun>
}

/** The output of requests.lua and load.ts. */
export interface LoadReport {
  requests: number
  micros: number
  p50: number
  p99: number
  unexpected: number
  last: number
  shed: number
  socket: number
  timeout: number
}

/** Runs `wrk` if it is installed, else autocannon. */
export async function openLoader(): Promise<Loader> {
  const version = await versionOf('wrk', '-v')
  return version
    ? { name: `wrk ${version}`, run: (load) => run(wrk(load), load.mayShed) }
    : { name: 'autocannon (wrk is not installed)', run: (load) => run(slower(load), load.mayShed) }
}

const script = (name: string) => join(import.meta.dirname, name)

function wrk({ url, plan, connections, seconds }: Load): string[] {
  const threads = Math.min(2, availableParallelism(), connections)
  const size = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, '--timeout', '20s']
  return ['wrk', ...size, '-s', script('requests.lua'), url, '--', plan]
}

interface PacedLoad extends Load {
  perSecond: number
}

/** Sends requests at up to this rate: each connection pauses, so the rate falls only if responses take long. */
export const paced = ({ url, plan, connections, seconds, perSecond }: PacedLoad): Promise<LoadRun> =>
  run([
    ...['wrk', '-t2', `-c${connections}`, `-d${seconds}s`, '--timeout', '20s', '-s', script('paced.lua')],
    ...[url, '--', plan, String((connections / perSecond) * 1_000)],
  ])

const slower = ({ url, plan, connections, seconds }: Load): string[] => [
  ...[process.execPath, script('load.ts'), url, plan],
  ...[String(connections), String(seconds)],
]

async function run(command: string[], mayShed = false): Promise<LoadRun> {
  const { output } = await runTool(command)
  const report = JSON.parse(output.trim().split('\n').at(-1) ?? '') as LoadReport
  const errors: string[] = []
  const wrong = report.unexpected - (mayShed ? report.shed : 0)
  if (wrong) errors.push(`${wrong} answers of a wrong status, such as ${report.last}`)
  if (report.socket) errors.push(`${report.socket} socket errors`)
  if (report.timeout) errors.push(`${report.timeout} timeouts`)
  if (!report.requests) errors.push('no answers')
  return {
    requests: report.requests,
    perSecond: report.requests / (report.micros / 1e6),
    p50Ms: report.p50 / 1000,
    p99Ms: report.p99 / 1000,
    shed: report.shed,
    errors,
  }
}

export async function storePlan(folder: string, name: string, plan: Plan): Promise<string> {
  const file = join(folder, `${name}.plan`)
  await writeFile(file, planText(plan))
  return file
}
