import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { responseExample } from '../../src/openapi/example.ts'
import { named } from '../../src/schema/named.ts'
import { unavailable } from '../../src/responses/errors.ts'
import {
  type Chunks,
  encode,
  heartbeat,
  heartbeatMs,
  streamStart,
} from '../../src/responses/server-sent-events.ts'
import type { Services } from '../../src/services.ts'
import { openStreamResponse } from '../events/stream.ts'
import { noImport, type RequireImport } from './access.ts'
import { type ImportRow, isFinal, isUndoActive } from './rows.ts'
import { importView } from './schema.ts'
import type { Watch } from './watch.ts'

const about =
  'Sends server-sent events of type `progress`, whose data is the import: first as it is now, then after each change, at most 4 times a second, and less often if the mapping is long: about 256 KiB a second. The stream ends after the event that shows the end of the import, or of its undo. It can be opened again at any time.'

const eventOf = (data: string): string => `event: progress\ndata: ${data}\n\n`

const streamedImport = {
  schema: named('StreamedImport', Type.String({ description: 'Server-sent events with imports' })),
  example: `retry: 1500\n\n${eventOf(JSON.stringify(responseExample(importView.schema)))}`,
}

export function followImport(services: Services, requireImport: RequireImport, watch: Watch): Query {
  const stream = openStreamResponse(services)
  return {
    about,
    operation: { id: 'followImport', tag: 'Imports' },
    view: importView,
    eventStream: streamedImport,
    isStreamOnly: true,
    errors: [noImport()],
    async read(reading) {
      const { row } = await requireImport(reading.caller, reading.params.id)
      reading.permit.release()
      return stream(reading, (signal) => progressOf({ services, requireImport, watch }, reading, row, signal))
    },
  }
}

interface Dependencies {
  services: Services
  requireImport: RequireImport
  watch: Watch
}

/** A mapping may have 2 MB, and each event contains the mapping. */
const maxBytesPerSecond = 262_144
/** The longest time until a stream with a long mapping ends after the server began to shut down. */
const maxSleepMs = 1_000

/** Checks the caller's rights again before each event. */
async function* progressOf(
  { services: { authenticate, subscriptions }, requireImport, watch }: Dependencies,
  { request, params }: ReadRequest,
  { projectId }: ImportRow,
  signal: AbortSignal,
): Chunks {
  yield streamStart()
  let [last, sentAt, readAt] = ['', performance.now(), 0]
  while (!signal.aborted) {
    if (subscriptions.hasEnded()) throw unavailable('The server is shutting down; connect again')
    const earlyMs = readAt + (last.length / maxBytesPerSecond) * 1_000 - performance.now()
    if (earlyMs > 0) {
      await sleep(Math.min(earlyMs, maxSleepMs))
      continue
    }
    readAt = performance.now()
    const watching = watch(projectId, signal)
    try {
      const { row } = await requireImport(await authenticate.caller(request), params.id)
      const text = JSON.stringify(importView.of(row))
      if (text !== last || performance.now() >= sentAt + heartbeatMs) {
        yield text === last ? heartbeat() : encode(eventOf(text))
        ;[last, sentAt] = [text, performance.now()]
      }
      if (isFinal(row) && !isUndoActive(row)) return
      await watching.wait()
    } finally {
      watching.end()
    }
  }
}
