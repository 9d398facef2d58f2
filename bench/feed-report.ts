import { type Feed, kept } from './feed.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en')
const tenths = (value: number) => value.toFixed(1)
const percent = (value: number) => `${Math.round(value * 100)} %`

/** The figures of following and of batches, as sentences. */
export function feedFacts(feed: Feed): string[] {
  const [followed, idle] = [kept(feed.followed), kept(feed.idle)]
  return [
    `At ${whole(feed.writesPerSecond)} creates a second a listener at another process hears of one ${tenths(feed.latencyP50Ms)} ms after ` +
      `it was answered (p99 ${tenths(feed.latencyP99Ms)} ms).`,
    `With a follower for each project, creates keep ${percent(followed.throughput)} of their throughput and take ` +
      `${percent(followed.cpu)} of the processor time; those who listen share the machine.`,
    `${whole(feed.idleStreams)} idle streams: the web process takes ${whole(feed.idleMiB)} MiB, and creates keep ` +
      `${percent(idle.throughput)} of their throughput, for ${percent(idle.cpu)} of the processor time.`,
    `${whole(feed.listeners)} who listen to one busy project get ${whole(feed.deliveriesPerSecond)} events a second.`,
    `At 64 connections batches of 100 create ${whole(feed.batched)} tasks a second, single creates ${whole(feed.singles)}: ` +
      `${tenths(feed.batched / feed.singles)} times as many.`,
  ]
}
