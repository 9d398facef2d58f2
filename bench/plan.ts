import type { Request } from 'autocannon'

/** The requests of a load generator: kinds, each with its share and its expected status. */
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

/** A placeholder in a body for a number that differs in each request. */
export const fresh = '#########'

/** Separates the records of a plan's text. No request contains it. */
export const separator = '\x1e'

/** The text that both generators read: `kind <share> <status>`, then the requests as sent. */
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
  /** Random requests, by the shares. */
  some(count: number): Request[]
  isExpected(status: number): boolean
}

/** Parses a plan for autocannon; requests.lua does the same for wrk. */
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
  // autocannon has its own counter
  const said = fields.filter(([name]) => name !== 'content-length')
  const headers = Object.fromEntries(said.map(([name, ...words]) => [name, words.join(' ')]))
  const request = { method: method as Request['method'], path, headers, ...(body && { body }) }
  if (!raw.includes(fresh)) return request
  return {
    ...request,
    setupRequest: (one) => ({ ...one, ...readRequest(raw.replace(fresh, String(++number))) }),
  }
}

const oneOf = <T>(items: T[]): T => items[Math.floor(Math.random() * items.length)]!
