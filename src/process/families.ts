import { countedFamilies } from '../metrics/families.ts'
import { type Family, gauge } from '../metrics/family.ts'
import type { Services } from '../services.ts'

/** What the service in this process tells: what it counted, and how it is right now. */
export function serviceFamilies({ actors, config, counts, followers }: Services): Family[] {
  const { known, waiting, deepest, stateBytes, leases } = actors.load()
  const { streams, events, seconds } = followers.lags.worst()
  const { readConnections: reads, commitSlots: commits, choreConnections: chores } = config
  const pools = Object.entries({ reads, commits, chores })
  return [
    ...countedFamilies(counts),
    gauge(
      'postgres_connections',
      'Connections that a pool may have.',
      pools.map(([pool, most]) => [{ pool }, most]),
    ),
    gauge('waiting_commands', 'Writes that are accepted and not answered.', waiting),
    gauge('mailbox_depth_commands', 'Writes that wait in the fullest mailbox.', deepest),
    gauge('actors', 'Projects in memory.', known),
    gauge('actor_state_bytes', 'What they take, about.', stateBytes),
    gauge('leases_held', 'Projects that this process alone may write.', leases),
    gauge('streams_open', 'Streams of server-sent events.', streams),
    gauge(
      'followers_open',
      'Streams, and requests that are held until something happens.',
      followers.inProgress(),
    ),
    gauge('follower_lag_events', 'What the last of the followers was not sent yet.', [
      [{ follower: 'stream' }, events],
    ]),
    gauge('follower_lag_seconds', 'For how long the last of the followers has been behind.', [
      [{ follower: 'stream' }, seconds],
    ]),
  ]
}
