import { forbidden } from '../wire/refusals.ts'
import type { Caller } from './caller.ts'
import { type Role, suffices } from './roles.ts'

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

const rank: Record<Scope, number> = { read: 1, write: 2, admin: 3 }
/** The highest role that a scope leaves. */
const ceilings: Record<Scope, Role> = { read: 'VIEWER', write: 'EDITOR', admin: 'OWNER' }

export const highest = (some: Scope[]): Scope => some.reduce((a, b) => (rank[b] > rank[a] ? b : a))

/** The scope that a write takes unless it says another: that of the role it takes. */
export const scopeOfWrite = (least: Role | 'nobody'): Scope =>
  least === 'ADMIN' || least === 'OWNER' ? 'admin' : 'write'

export const scopeNeeded = (scope: Scope) => forbidden(`This needs an API token with the scope ${scope}`)
export const boundToken = () => forbidden('This needs an API token that is not bound to projects')
export const signInNeeded = () => forbidden('This needs a sign-in token, not an API token')

/** True when the caller's token has the scope; who signed in has all. */
export const hasScope = ({ token }: Caller, scope: Scope): boolean =>
  token === undefined || rank[token.scope] >= rank[scope]

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
