import { forbidden, notFound } from '../responses/errors.ts'

export const roles = ['VIEWER', 'EDITOR', 'ADMIN'] as const
export type MemberRole = (typeof roles)[number]
export type Role = MemberRole | 'OWNER'
const roleRank: Record<Role, number> = { VIEWER: 1, EDITOR: 2, ADMIN: 3, OWNER: 4 }

export const isAtLeast = (role: Role, minimum: Role): boolean => roleRank[role] >= roleRank[minimum]
export const roleNeeded = (minimum: Role) => forbidden(`This needs the role ${minimum} in the project`)

/** @throws HttpError 404 without a role, as if the resource `noun` did not exist; 403 if the role does not suffice */
export function requireRole(
  role: Role | null | undefined,
  minimum: Role,
  noun: string,
): asserts role is Role {
  if (!role) throw notFound(noun)
  if (!isAtLeast(role, minimum)) throw roleNeeded(minimum)
}

/** Plain data, because it is sent with commands. All requests of a session share one object. */
export interface Caller {
  readonly userId: string
  readonly token?: TokenRights
}

export interface ProjectCaller {
  readonly caller: Caller
  readonly role: Role | null
  /** The id of the caller's membership, if members are loaded. */
  readonly memberId?: string
}

export const tokenOrUserId = ({ userId, token }: Caller): string => token?.id ?? userId

/** Each scope includes the scopes before it. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]
const scopeRank: Record<Scope, number> = { read: 1, write: 2, admin: 3 }

interface TokenRights {
  id: string
  scope: Scope
  /** The only projects visible to the token; null for all projects of its account. */
  projects: string[] | null
  isService?: true
}

export const highestScope = (some: Scope[]): Scope =>
  some.reduce((a, b) => (scopeRank[b] > scopeRank[a] ? b : a))

export const scopeOfWrite = (minimum: Role | null): Scope =>
  minimum === 'ADMIN' || minimum === 'OWNER' ? 'admin' : 'write'

export const scopeNeeded = (scope: Scope) => forbidden(`This needs an API token with the scope ${scope}`)
export const unboundTokenNeeded = () => forbidden('This needs an API token that is not bound to projects')
export const signInNeeded = () => forbidden('This needs a sign-in token, not an API token')

/** A sign-in token has all scopes. @throws HttpError 403 */
export function requireScope({ token }: Caller, scope: Scope): void {
  if (token && scopeRank[token.scope] < scopeRank[scope]) throw scopeNeeded(scope)
}

/** Checks access to resources outside of projects. @throws HttpError 403 for a token that is bound to projects */
export function requireUnbound({ token }: Caller): void {
  if (token?.projects) throw unboundTokenNeeded()
}

export const isWithinToken = ({ token }: Caller, projectId: string): boolean =>
  !token?.projects || token.projects.includes(projectId)

export interface ProjectRoles {
  readonly projectId: string
  roleOf(userId: string): Role | null
  /** Missing if only roles are loaded. */
  memberOf?(userId: string): { id: string } | undefined
}

/** Returns the caller's role in a project; null if the project is not visible to the caller's token. */
export const roleIn = (roles: ProjectRoles, caller: Caller): Role | null =>
  isWithinToken(caller, roles.projectId) ? roles.roleOf(caller.userId) : null
