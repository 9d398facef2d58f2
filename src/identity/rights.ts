import { forbidden, notFound } from '../responses/errors.ts'

export const roles = ['VIEWER', 'EDITOR', 'ADMIN'] as const
export type MemberRole = (typeof roles)[number]
export type Role = MemberRole | 'OWNER'
const roleRank: Record<Role, number> = { VIEWER: 1, EDITOR: 2, ADMIN: 3, OWNER: 4 }

export const suffices = (role: Role, minimum: Role): boolean => roleRank[role] >= roleRank[minimum]
export const roleNeeded = (minimum: Role) => forbidden(`This needs the role ${minimum} in the project`)

/** @throws HttpError 404 without a role, as if the resource `noun` did not exist, and 403 when the role does not suffice */
export function requireRole(
  role: Role | null | undefined,
  minimum: Role,
  noun: string,
): asserts role is Role {
  if (!role) throw notFound(noun)
  if (!suffices(role, minimum)) throw roleNeeded(minimum)
}

/** Plain data, because it is sent with commands; one object for all requests of a session. */
export interface Caller {
  readonly userId: string
  /** Of an API token only. */
  readonly token?: TokenRights
}

/** A caller with the role in a project; null for a stranger. */
export interface Asking {
  readonly caller: Caller
  readonly role: Role | null
  /** The caller's membership, if the members are loaded. */
  readonly memberId?: string
}

/** The holder of budgets and Idempotency-Keys: each API token has its own. */
export const holderOf = ({ userId, token }: Caller): string => token?.id ?? userId

/** Each scope contains those before it. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]
const scopeRank: Record<Scope, number> = { read: 1, write: 2, admin: 3 }
/** The highest role that a scope leaves. */
const ceilings: Record<Scope, Role> = { read: 'VIEWER', write: 'EDITOR', admin: 'OWNER' }

/** The rights that an API token leaves of its account's. Plain data. */
export interface TokenRights {
  id: string
  scope: Scope
  /** The only projects that exist for the token; null for all of its account's. */
  projects: string[] | null
  /** The token is of a service account. */
  isService?: true
}

export const highest = (some: Scope[]): Scope => some.reduce((a, b) => (scopeRank[b] > scopeRank[a] ? b : a))

/** The scope of a write, unless its definition states another. */
export const scopeOfWrite = (minimum: Role | 'nobody'): Scope =>
  minimum === 'ADMIN' || minimum === 'OWNER' ? 'admin' : 'write'

export const scopeNeeded = (scope: Scope) => forbidden(`This needs an API token with the scope ${scope}`)
export const boundToken = () => forbidden('This needs an API token that is not bound to projects')
export const signInNeeded = () => forbidden('This needs a sign-in token, not an API token')

/** A caller who signed in has all scopes. @throws HttpError 403 */
export function requireScope({ token }: Caller, scope: Scope): void {
  if (token && scopeRank[token.scope] < scopeRank[scope]) throw scopeNeeded(scope)
}

/** For resources outside of projects. @throws HttpError 403 */
export function requireUnbound({ token }: Caller): void {
  if (token?.projects) throw boundToken()
}

/** True if the project exists for the caller's token. */
export const reaches = ({ token }: Caller, projectId: string): boolean =>
  !token?.projects || token.projects.includes(projectId)

/** The roles of users in one project. */
export interface ProjectRoles {
  readonly projectId: string
  roleOf(userId: string): Role | null
  /** Absent where only roles were looked up. */
  memberOf?(userId: string): { id: string } | undefined
}

/** The caller's role in a project, at most the highest of the token's scope; null for a project beyond the token. */
export function roleIn(roles: ProjectRoles, caller: Caller): Role | null {
  const role = reaches(caller, roles.projectId) ? roles.roleOf(caller.userId) : null
  const ceiling = caller.token && ceilings[caller.token.scope]
  return role && ceiling && suffices(role, ceiling) ? ceiling : role
}
