import { forbidden, notFound } from '../wire/refusals.ts'

export const roles = ['VIEWER', 'EDITOR', 'ADMIN'] as const
export type MemberRole = (typeof roles)[number]
/** A caller's role in a project: its owner's stands above those of members. */
export type Role = MemberRole | 'OWNER'

const rank: Record<Role, number> = { VIEWER: 1, EDITOR: 2, ADMIN: 3, OWNER: 4 }

/** True when `role` may do what takes at least `least`. */
export const suffices = (role: Role, least: Role): boolean => rank[role] >= rank[least]

export const roleNeeded = (least: Role) => forbidden(`This needs the role ${least} in the project`)

/**
 * Lets the caller pass or refuses: 404 for someone outside, as if the thing did not exist; 403 when the role is
 * not enough. `what` names the resource asked for, as the caller knows it.
 */
export function requireRole(role: Role | null | undefined, least: Role, what: string): asserts role is Role {
  if (!role) throw notFound(what)
  if (!suffices(role, least)) throw roleNeeded(least)
}

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

/** Each holds those before it. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** What an API token leaves of its account's rights. Plain data, as it travels with its caller. */
export interface TokenRights {
  id: string
  scope: Scope
  /** The only projects that there are for it; null for all of its account's. */
  projects: string[] | null
  /** Its account serves one project, and belongs to it. */
  isService?: true
}

const scopeRank: Record<Scope, number> = { read: 1, write: 2, admin: 3 }
/** The highest role that a scope leaves. */
const ceilings: Record<Scope, Role> = { read: 'VIEWER', write: 'EDITOR', admin: 'OWNER' }

export const highest = (some: Scope[]): Scope => some.reduce((a, b) => (scopeRank[b] > scopeRank[a] ? b : a))

/** The scope that a write takes unless it says another: that of the role it takes. */
export const scopeOfWrite = (least: Role | 'nobody'): Scope =>
  least === 'ADMIN' || least === 'OWNER' ? 'admin' : 'write'

export const scopeNeeded = (scope: Scope) => forbidden(`This needs an API token with the scope ${scope}`)
export const boundToken = () => forbidden('This needs an API token that is not bound to projects')
export const signInNeeded = () => forbidden('This needs a sign-in token, not an API token')

/** True when the caller's token has the scope; who signed in has all. */
export const hasScope = ({ token }: Caller, scope: Scope): boolean =>
  token === undefined || scopeRank[token.scope] >= scopeRank[scope]

/** @throws Refusal 403 */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!hasScope(caller, scope)) throw scopeNeeded(scope)
}

/** For what is in no project. @throws Refusal 403 */
export function requireUnbound({ token }: Caller): void {
  if (token?.projects) throw boundToken()
}

/** True when there is such a project for the caller's token. */
export const reaches = ({ token }: Caller, projectId: string): boolean =>
  !token?.projects || token.projects.includes(projectId)

/** The roles of users in one project. */
export interface ProjectRoles {
  readonly projectId: string
  roleOf(userId: string): Role | null
  /** Absent where only roles were looked up. */
  memberOf?(userId: string): { id: string } | undefined
}

/** The caller's role in a project, no higher than their token's scope lets it; null where that does not reach. */
export function roleIn(roles: ProjectRoles, caller: Caller): Role | null {
  const role = reaches(caller, roles.projectId) ? roles.roleOf(caller.userId) : null
  const ceiling = caller.token && ceilings[caller.token.scope]
  return role && ceiling && suffices(role, ceiling) ? ceiling : role
}
