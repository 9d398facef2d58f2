import type { Static } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { gone } from '../../src/reads/kept.ts'
import { sampleId } from '../../src/schema/answer.ts'
import type { Services } from '../../src/services.ts'
import { page } from '../../src/wire/answers.ts'
import { openStream } from '../events/stream.ts'
import { openOverview } from './overview.ts'
import { aheadIn, ReadMany, readPositions } from './positions.ts'
import { openReadMany } from './read-many.ts'
import { manyEventsView, streamedVersions } from './schema.ts'

const aboutAll =
  'Server-sent events: first every project that the caller may see with its version, as `{projectId, version}`, then each that has moved, or came. One that is out of sight (deleted, or the caller was removed) comes with the version null. Of more than 1,000 projects 1,000 are told, first those with the lowest ids, and an event of type `more` says that there are others: `GET /projects` lists them, `POST /events/read` reads what happens there. These are states and not a history: who reconnects gets all of them again, who is slow the newest of each.'

const aboutMany =
  'A read, although a POST: it takes no Idempotency-Key. Answers at most `limit` events, of each project in order and without a gap, and 1 MiB; none goes before the others for long. `after` says where to go on, and can be sent back as it is. `wait` holds the answer while there is nothing to tell.'

/** What may be asked of many projects at once. */
export function feedReads(services: Services) {
  const stream = openStream(services)
  const tellAll = openOverview(services)
  const readAll = openReadMany(services)

  const overview: Query = {
    about: aboutAll,
    called: { id: 'followProjects', tag: 'Events' },
    shows: manyEventsView,
    streams: streamedVersions,
    onlyStreams: true,
    read: async (reading) => stream(reading, (signal) => tellAll(reading, signal)),
  }

  const readMany: Query = {
    about: aboutMany,
    called: { id: 'readEvents', tag: 'Events' },
    body: ReadMany,
    shows: manyEventsView,
    refuses: [aheadIn(sampleId), gone(17, sampleId)],
    async read(reading) {
      const body = await readAll(reading, readPositions(reading.body as Static<typeof ReadMany>))
      return page(reading.request, { etag: '', body, link: null })
    },
  }
  return { overview, readMany }
}
