import type { Permit } from '../admission/fair-queue.ts'
import type { Caller } from '../identity/rights.ts'
import type { Session } from '../identity/sessions.ts'

interface SetByGuard {
  caller: Caller
  claims: Session
  address: string
  /** A read releases the permit before it waits for events. */
  permit: Permit
}

/** A request whose route's guard has set at least the fields `Needed`. */
export type RouteRequest<Needed extends keyof SetByGuard = never> = {
  request: Request
  params: Record<string, string>
  query: Record<string, string | undefined>
  body?: unknown
} & Partial<SetByGuard> &
  Pick<SetByGuard, Needed>
