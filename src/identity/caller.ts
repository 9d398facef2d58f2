import type { Role } from './roles.ts'
import type { TokenRights } from './scopes.ts'

/** Who asks. Plain data, for it travels with a command; one object for all requests of a session. */
export interface Caller {
  readonly userId: string
  /** Of an API token; who signed in has none. */
  readonly token?: TokenRights
}

/** A caller with their role in a project; null for a stranger. */
export interface Asking {
  readonly caller: Caller
  readonly role: Role | null
  /** The caller's membership, where members are loaded and the caller is one of them. */
  readonly memberId?: string
}

/** Whose budgets and Idempotency-Keys a request uses: an API token has its own. */
export const holderOf = ({ userId, token }: Caller): string => token?.id ?? userId
