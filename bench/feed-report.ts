import type { Feed } from './feed.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en')
const tenths = (value: number) => value.toFixed(1)
const percent = (value: number) => `${Math.round(value * 100)} %`

export function feedSentences(feed: Feed): string[] {
  const { hot, one, each, idle, batches } = feed
  return [
    `At ${whole(feed.writesPerSecond)} creates a second, a subscriber at another process receives an event ${tenths(feed.latencyP50Ms)} ms after ` +
      `the response (p99 ${tenths(feed.latencyP99Ms)} ms).`,
    `Creates in one project with a stream: ${percent(hot.cpu)} of the processor time and ${percent(hot.throughput)} of the ` +
      `throughput; creates in many projects, one of them with a stream: ${percent(one.cpu)} and ${percent(one.throughput)}.`,
    `Creates in many projects, each with a stream: ${percent(each.cpu)} of the processor time and ` +
      `${percent(each.throughput)} of the throughput; the subscribers share the machine.`,
    `${whole(feed.idleStreams)} idle streams: the web process takes ${whole(feed.idleMiB)} MiB, and creates keep ` +
      `${percent(idle.throughput)} of their throughput, for ${percent(idle.cpu)} of the processor time.`,
    `${whole(feed.listeners)} streams of one busy project receive ${whole(feed.deliveriesPerSecond)} events a second.`,
    `At 64 connections batches of 100 create ${whole(batches.batched)} tasks a second, single creates ${whole(batches.singles)}: ` +
      `${tenths(batches.timesAsMany)} times as many, for ${whole(batches.batchedMicros)} instead of ${whole(batches.singleMicros)} µs ` +
      `of processor time a task.`,
  ]
}
