import { requireEtag } from '../wire/if-match.ts'
import type { Context } from '../log/rule.ts'

/**
 * Holds a write to its `If-Match` (RFC 9110, 13.1.1), compared strongly with the row as it is now. Called by rules,
 * so inside the actor: between the comparison and the commit nothing can happen. What an ETag says after a dot is of
 * somebody's name, which is no state of the project.
 * @throws Refusal 412
 */
export function requireMatch({ ifMatch }: Pick<Context, 'ifMatch'>, { eventId }: { eventId: string }): void {
  requireEtag(ifMatch?.replaceAll(/\.[\w-]+(?=")/g, ''), `"${eventId}"`)
}
