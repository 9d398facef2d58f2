import { type Family, gauge } from './family.ts'

export function lagFamilies(follower: string, events: number, seconds: number): Family[] {
  const labels = { follower }
  return [
    gauge('follower_lag_events', 'Events not yet sent to the slowest subscriber.', [[labels, events]]),
    gauge('follower_lag_seconds', 'Time since the slowest subscriber fell behind.', [[labels, seconds]]),
  ]
}
