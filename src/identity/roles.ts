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
