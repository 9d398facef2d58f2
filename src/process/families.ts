import { countedFamilies } from '../metrics/families.ts'
import { by, type Family, gauge, lagFamilies } from '../metrics/family.ts'
import type { Services } from '../services.ts'

export function serviceFamilies({ actors, config, counts, subscriptions }: Services): Family[] {
  const { known, waiting, deepest, stateBytes, leases } = actors.load()
  const open = subscriptions.inProgress()
  const { streams, events, seconds } = subscriptions.lags.worst()
  const { readConnections: reads, commitSlots: commits, backgroundConnections: background } = config
  const pools = by('pool', { reads, commits, background })
  return [
    ...countedFamilies(counts),
    gauge('postgres_connections', 'Connections that a pool may have.', pools),
    gauge('waiting_commands', 'Writes that are accepted and not answered.', waiting),
    gauge('mailbox_depth_commands', 'Writes that wait in the fullest mailbox.', deepest),
    gauge('actors', 'Projects in memory.', known),
    gauge('actor_state_bytes', 'What they take, about.', stateBytes),
    gauge('leases_held', 'Projects that this process alone may write.', leases),
    gauge('streams_open', 'Streams of server-sent events.', streams),
    gauge('followers_open', 'Streams, and requests that are held until something happens.', open),
    ...lagFamilies('stream', events, seconds),
  ]
}
