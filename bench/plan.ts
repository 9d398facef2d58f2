import type { Request } from 'autocannon'

/** What a load generator sends: kinds of requests, each with its share and the status that is right. */
export type Plan = Kind[]

export interface Kind {
  share: number
  status: number
  requests: PlannedRequest[]
}

export interface PlannedRequest {
  method: string
  path: string
  token: string
  body?: Record<string, unknown>
  etag?: string
  idempotencyKey?: string
  accept?: string
}

/** Stands in a body for a number that is another one in each request. */
export const fresh = '#########'

/** Parts two records of a plan's text: no request contains it. */
export const separator = '\x1e'

/** The plan as both generators read it: `kind <share> <status>`, then its requests as on the wire. */
export function planText(plan: Plan): string {
  const records = plan.flatMap(({ share, status, requests }) => [
    `kind ${share} ${status}`,
    ...requests.map(rawRequest),
  ])
  return records.join(separator)
}

function rawRequest({ method, path, token, body, etag, idempotencyKey, accept }: PlannedRequest): string {
  const content = body ? JSON.stringify(body) : ''
  const head = [
    `${method} /api/v1${path} HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer ${token}`,
    ...(etag ? [`if-none-match: ${etag}`] : []),
    ...(idempotencyKey ? [`idempotency-key: ${idempotencyKey}`] : []),
    ...(accept ? [`accept: ${accept}`] : []),
    ...(content ? ['content-type: application/json', `content-length: ${content.length}`] : []),
  ]
  return `${head.join('\r\n')}\r\n\r\n${content}`
}

export interface ReadPlan {
  /** So many requests at random, by the shares. */
  some(count: number): Request[]
  isExpected(status: number): boolean
}

/** Reads a plan's text for autocannon; requests.lua does it for wrk. */
export function readPlan(text: string): ReadPlan {
  const slots: Request[][] = []
  const statuses = new Set<number>()
  for (const record of text.split(separator)) {
    const [, share, status] = /^kind (\d+) (\d+)$/.exec(record) ?? []
    if (!share) slots.at(-1)?.push(readRequest(record))
    else {
      statuses.add(Number(status))
      const requests: Request[] = []
      for (let slot = 0; slot < Number(share); slot++) slots.push(requests)
    }
  }
  return {
    some: (count) => Array.from({ length: count }, () => ({ ...oneOf(oneOf(slots)) })),
    isExpected: (status) => statuses.has(status),
  }
}

let number = 100_000_000 + Math.floor(Math.random() * 400_000_000)

function readRequest(raw: string): Request {
  const [head = '', body] = raw.split('\r\n\r\n')
  const [[method = '', path = ''] = [], ...fields] = head.split('\r\n').map((line) => line.split(/:? /))
  // autocannon counts by itself
  const said = fields.filter(([name]) => name !== 'content-length')
  const headers = Object.fromEntries(said.map(([name, ...words]) => [name, words.join(' ')]))
  const request = { method: method as Request['method'], path, headers, ...(body && { body }) }
  if (!body?.includes(fresh)) return request
  return { ...request, setupRequest: (one) => ({ ...one, body: body.replace(fresh, String(++number)) }) }
}

const oneOf = <T>(items: T[]): T => items[Math.floor(Math.random() * items.length)]!
