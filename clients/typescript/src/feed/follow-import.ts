import { backoffMs, sleep } from '../retries.ts'
import type { Import } from '../schemas.ts'
import type { Transport } from '../transport.ts'
import { streamMessages } from './stream.ts'

const active: unknown[] = ['queued', 'running']
const hasEnded = ({ state, undo }: Import): boolean =>
  !active.includes(state) && !active.includes(undo?.state)

/**
 * Yields the import now and after each change, until it has ended. Connects again after a lost connection.
 * @throws DocketError if the import cannot be read; the reason of `signal`
 */
export async function* followImport(
  transport: Transport,
  id: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Import, void, void> {
  const path = `/imports/${encodeURIComponent(id)}`
  for (let failures = 0; ; failures++) {
    try {
      for await (const { event, data } of streamMessages(transport, { path: `${path}/events`, signal })) {
        if (event !== 'progress') continue
        failures = 0
        const now = JSON.parse(data) as Import
        yield now
        if (hasEnded(now)) return
      }
    } catch {
      // If the error is not only of the stream, the next request throws it.
    }
    const { body } = await transport.request<Import>('GET', path, { signal })
    yield body
    if (hasEnded(body)) return
    await sleep(backoffMs(failures), signal)
  }
}
