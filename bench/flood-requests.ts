import type { Neighbours } from './neighbours.ts'
import type { PlannedRequest } from './plan.ts'
import { numbers } from './seed.ts'

type Requests = (of: Neighbours) => PlannedRequest[]

export const of500 = { operations: numbers(500).map((n) => ({ op: 'task.create', title: `Task ${n}` })) }

export function lastSeqs({ large }: Neighbours) {
  return { seqs: numbers(250).map((n) => large.version - n) }
}

export function get(path: (of: Neighbours) => string): Requests {
  return (of) => [{ method: 'GET', path: path(of), token: of.token }]
}

export function post(
  path: string | ((of: Neighbours) => string),
  body: (of: Neighbours) => Record<string, unknown>,
): Requests {
  return (of) => [
    { method: 'POST', path: typeof path === 'string' ? path : path(of), token: of.token, body: body(of) },
  ]
}

export function signIn(body: Record<string, unknown>): Requests {
  return () => [{ method: 'POST', path: '/auth/login', token: '', body }]
}
