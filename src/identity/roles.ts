import { forbidden, notFound } from '../wire/refusals.ts'

export const roles = ['VIEWER', 'EDITOR', 'ADMIN'] as const
export type Role = (typeof roles)[number]
/** What a caller is in a project: the owner stands above every role. */
export type Standing = Role | 'OWNER'

const rank: Record<Standing, number> = { VIEWER: 1, EDITOR: 2, ADMIN: 3, OWNER: 4 }

/** True when `standing` may do what takes at least `least`. */
export const suffices = (standing: Standing, least: Standing): boolean => rank[standing] >= rank[least]

/**
 * Lets the caller pass or refuses: 404 for someone outside, as if the thing did not exist; 403 when the role is
 * not enough. `what` names the resource asked for, as the caller knows it.
 */
export function requireStanding(
  standing: Standing | null | undefined,
  least: Standing,
  what: string,
): asserts standing is Standing {
  if (!standing) throw notFound(what)
  if (!suffices(standing, least)) throw forbidden(`This needs the role ${least} in the project`)
}
