import type { Docket, Event } from '../../../typescript/src/index.ts'

const waitSeconds = 25
const callMs = 60_000

/** Yields the events after a seq for ever; by default the events from now on. */
export async function* follow(docket: Docket, projectId: string, after?: number): AsyncGenerator<Event> {
  const path = `/projects/${projectId}`
  const now = async () => (await docket.transport.request('GET', path)).headers.get('docket-version')
  let seq = after ?? Number(await now())
  for (;;) {
    const query = { after: seq, wait: waitSeconds }
    const { body } = await docket.transport.request<Event[]>('GET', `${path}/events`, {
      query,
      deadlineMs: callMs,
    })
    for (const event of body) {
      seq = event.seq
      yield event
    }
  }
}
