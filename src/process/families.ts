import { countFamilies } from '../metrics/families.ts'
import { labelledBy, type Family, gauge } from '../metrics/family.ts'
import { lagFamilies } from '../metrics/lag-families.ts'
import type { Services } from '../services.ts'

export function serviceFamilies({ actors, config, counts, subscriptions }: Services): Family[] {
  const { known, waiting, deepest, stateBytes, leases } = actors.load()
  const open = subscriptions.inProgress()
  const { streams, events, seconds } = subscriptions.lags.worst()
  const { readConnections: reads, commitSlots: commits, backgroundConnections: background } = config
  const pools = labelledBy('pool', { reads, commits, background })
  return [
    ...countFamilies(counts),
    gauge('postgres_connections', 'Connection limit of each pool.', pools),
    gauge('waiting_commands', 'Commands that wait or run.', waiting),
    gauge('mailbox_depth_commands', 'Commands in the fullest mailbox.', deepest),
    gauge('actors', 'Projects whose actor is in memory.', known),
    gauge('actor_state_bytes', 'Approximate memory of all actors.', stateBytes),
    gauge('leases_held', 'Leases that this process holds.', leases),
    gauge('streams_open', 'Open streams of server-sent events.', streams),
    gauge('followers_open', 'Open streams and long polls.', open),
    ...lagFamilies('stream', events, seconds),
  ]
}
