import { eventView } from '../../modules/events/schema.ts'
import type { ReadEvent } from '../../modules/events/views.ts'
import type { Evidence, Fact } from './evidence.ts'

export const shownFact = (fact: Fact, people: Evidence['people']): string =>
  JSON.stringify(eventView.of({ ...fact, people } as unknown as ReadEvent))
