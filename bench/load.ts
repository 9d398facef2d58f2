import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Answer, openClient } from '../test/support/client.ts'
import { runTool } from './tools.ts'

/** The requests of a load: kinds, each with its share and its expected status. */
export type Plan = { share: number; status: number; requests: PlannedRequest[] }[]

export interface PlannedRequest {
  method: string
  path: string
  token: string
  body?: object
  headers?: Record<string, string>
}

export const singleKind = (status: number, requests: PlannedRequest[]): Plan => [
  { share: 1, status, requests },
]
export const get = (path: string, token: string): PlannedRequest => ({ method: 'GET', path, token })
export const post = (path: string, token: string, body: object): PlannedRequest => ({
  ...{ method: 'POST', path, token, body },
})

/** A placeholder for a number that differs in each request. A request has at most one. */
export const fresh = '#########'

/** Separates the records of a plan's text. No request contains it. */
const separator = '\x1e'

/** Stores a plan as requests.lua reads it: `kind <share> <status>`, then the requests as sent. */
async function storePlan(folder: string, plan: Plan): Promise<string> {
  const file = join(folder, `${crypto.randomUUID()}.plan`)
  const records = plan.flatMap(({ share, status, requests }) => [
    `kind ${share} ${status}`,
    ...requests.map(rawRequest),
  ])
  await writeFile(file, records.join(separator))
  return file
}

function rawRequest({ method, path, token, body, headers = {} }: PlannedRequest): string {
  const content = body ? JSON.stringify(body) : ''
  const all = {
    host: 'localhost',
    authorization: `Bearer ${token}`,
    ...headers,
    ...(content && { 'content-type': 'application/json', 'content-length': content.length }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${[`${method} /api/v1${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${content}`
}

/** Sends one request, and reads the whole response. @throws Error unless the request succeeds */
export async function send(
  url: string,
  { method, path, token, body, headers }: PlannedRequest,
): Promise<Answer> {
  const answer = await openClient(url, token).call(method, path, body, headers)
  if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status} ${answer.text}`)
  return answer
}

/** The result of a run. A run with errors is not used. */
export interface LoadRun {
  requests: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  errors: string[]
}

interface LoadOptions {
  connections: number
  /** The service that gets the requests, if it is not the first one. */
  url?: string
  /** The maximum rate: each connection pauses. Default: no pauses. */
  perSecond?: number
  /** Unexpected statuses are no errors. */
  mayFail?: boolean
}

/** Returns a function that sends the requests of a plan with `wrk`. */
export async function openLoad(servers: { folder: string; url: string }, plan: Plan, options: LoadOptions) {
  const file = await storePlan(servers.folder, plan)
  return (seconds: number) => runLoad(file, { url: servers.url, ...options }, seconds)
}

async function runLoad(file: string, options: LoadOptions, seconds: number): Promise<LoadRun> {
  const { url = '', connections, perSecond, mayFail = false } = options
  const pauseMs = perSecond ? [String((connections / perSecond) * 1_000)] : []
  const size = [`-t${Math.min(2, connections)}`, `-c${connections}`, `-d${seconds}s`, '--timeout', '20s']
  const script = join(import.meta.dirname, 'requests.lua')
  const { stdout } = await runTool(['wrk', ...size, '-s', script, url, '--', file, ...pauseMs])
  const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, number>
  const { requests = 0, micros = 0, p50 = 0, p99 = 0, unexpected, last, socket, timeout } = report
  const failures = [
    ...(unexpected ? [`${unexpected} responses with an unexpected status, such as ${last}`] : []),
    ...(socket ? [`${socket} socket errors`] : []),
    ...(timeout ? [`${timeout} timeouts`] : []),
  ]
  const errors = requests === 0 ? ['no responses'] : mayFail ? [] : failures
  return { requests, perSecond: requests / (micros / 1e6), p50Ms: p50 / 1_000, p99Ms: p99 / 1_000, errors }
}
