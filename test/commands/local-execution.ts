import { type LookUp, openLookUp } from '../../src/commands/look-up.ts'
import { openFindPerson } from '../../src/reads/people.ts'
import { openExecute } from '../../src/commands/execute.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import type { Log } from '../../src/log.ts'
import type { Services } from '../../src/services.ts'

export const lookUpOf = ({ database }: Services): LookUp =>
  openLookUp(openFindPerson(database.reads), openRowLocations(database.reads))

export const executeOf = (services: Services, over: { lookUp?: LookUp; log?: Log } = {}) => {
  const { actors, findRole, config } = services
  return openExecute({ actors, findRole, lookUp: lookUpOf(services), limits: config, ...over })
}
