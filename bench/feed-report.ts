import type { Feed } from './feed.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en')
const tenths = (value: number) => value.toFixed(1)
const percent = (value: number) => `${Math.round(value * 100)} %`

/** Sentences with the results for subscribers and batches. */
export function feedFacts(feed: Feed): string[] {
  const { hot, one, each, idle, batches } = feed
  return [
    `At ${whole(feed.writesPerSecond)} creates a second a listener at another process hears of one ${tenths(feed.latencyP50Ms)} ms after ` +
      `it was answered (p99 ${tenths(feed.latencyP99Ms)} ms).`,
    `One stream that follows the only project that is written to: a create takes ${percent(hot.cpu)} of the processor time, and ` +
      `${percent(hot.throughput)} are done; of many that are written to, one followed: ${percent(one.cpu)} and ${percent(one.throughput)}.`,
    `A stream for each of the projects, so that each create is a message to somebody else: ${percent(each.cpu)} of the processor ` +
      `time, ${percent(each.throughput)} of the throughput; those who listen share the machine.`,
    `${whole(feed.idleStreams)} idle streams: the web process takes ${whole(feed.idleMiB)} MiB, and creates keep ` +
      `${percent(idle.throughput)} of their throughput, for ${percent(idle.cpu)} of the processor time.`,
    `${whole(feed.listeners)} who listen to one busy project get ${whole(feed.deliveriesPerSecond)} events a second.`,
    `At 64 connections batches of 100 create ${whole(batches.batched)} tasks a second, single creates ${whole(batches.singles)}: ` +
      `${tenths(batches.timesAsMany)} times as many, for ${whole(batches.batchedMicros)} instead of ${whole(batches.singleMicros)} µs ` +
      `of processor time a task.`,
  ]
}
