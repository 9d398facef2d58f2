import { type LookUp, openLookUp } from '../../src/commands/look-up.ts'
import { openFindPerson } from '../../src/reads/people.ts'
import { openPerform } from '../../src/commands/perform.ts'
import { openPlaces } from '../../src/commands/places.ts'
import type { Log } from '../../src/log.ts'
import type { Services } from '../../src/services.ts'

export const lookUpOf = ({ database }: Services): LookUp =>
  openLookUp(openFindPerson(database.reads), openPlaces(database.reads))

/** Runs commands in the actors of a service, as a project's home does. */
export const performOf = (services: Services, over: { lookUp?: LookUp; log?: Log } = {}) => {
  const { actors, findRole, config } = services
  return openPerform({ actors, findRole, lookUp: lookUpOf(services), limits: config, ...over })
}
