import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runTool } from './tools.ts'

/** The requests of a load: kinds, each with its share and its expected status. */
export type Plan = Kind[]

interface Kind {
  share: number
  status: number
  requests: PlannedRequest[]
}

export interface PlannedRequest {
  method: string
  path: string
  token: string
  body?: Record<string, unknown>
  headers?: Record<string, string>
}

export const singleKind = (status: number, requests: PlannedRequest[]): Plan => [
  { share: 1, status, requests },
]

/** A placeholder for a number that differs in each request. A request has at most one. */
export const fresh = '#########'

/** Separates the records of a plan's text. No request contains it. */
const separator = '\x1e'

/** Stores a plan as requests.lua reads it: `kind <share> <status>`, then the requests as sent. */
export async function storePlan(folder: string, name: string, plan: Plan): Promise<string> {
  const file = join(folder, `${name}.plan`)
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

/** Sends one planned request on a kept-alive connection, and reads the whole response. */
export async function send(url: string, request: PlannedRequest): Promise<Response> {
  const { method, path, token, body } = request
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body && { 'content-type': 'application/json' }),
  }
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
  await answer.arrayBuffer()
  return answer
}

/** The result of a run. A run with errors is not used. */
export interface LoadRun {
  requests: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Responses with 503, and with another unexpected status. */
  shed: number
  errors: string[]
}

export interface Load {
  url: string
  plan: string
  connections: number
  seconds: number
  /** The maximum rate: each connection pauses. Default: no pauses. */
  perSecond?: number
  /** Unexpected statuses are no errors. */
  mayFail?: boolean
}

/** Sends the requests of a plan with `wrk`. */
export async function runLoad(load: Load): Promise<LoadRun> {
  const { url, plan, connections, seconds, perSecond, mayFail = false } = load
  const pauseMs = perSecond ? [String((connections / perSecond) * 1_000)] : []
  const size = [`-t${Math.min(2, connections)}`, `-c${connections}`, `-d${seconds}s`, '--timeout', '20s']
  const script = join(import.meta.dirname, 'requests.lua')
  const { output } = await runTool(['wrk', ...size, '-s', script, url, '--', plan, ...pauseMs])
  const report = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Record<string, number>
  const { requests = 0, micros = 0, p50 = 0, p99 = 0, unexpected, last, shed = 0, socket, timeout } = report
  const errors = [
    ...(unexpected && !mayFail ? [`${unexpected} responses with an unexpected status, such as ${last}`] : []),
    ...(socket && !mayFail ? [`${socket} socket errors`] : []),
    ...(timeout && !mayFail ? [`${timeout} timeouts`] : []),
    ...(requests ? [] : ['no responses']),
  ]
  const perSecondReached = requests / (micros / 1e6)
  return { requests, perSecond: perSecondReached, p50Ms: p50 / 1_000, p99Ms: p99 / 1_000, shed, errors }
}
