import { claimsSentence } from './claims.ts'
import { importSentence } from './import.ts'
import type { Deletion } from './deletion.ts'
import { fairTable } from './fair-report.ts'
import { filterTable } from './filter-report.ts'
import { feedSentences } from './feed-report.ts'
import type { SingleClient } from './single-client.ts'
import { sentence } from './machine.ts'
import type { Row } from './measure.ts'
import type { Overload } from './overload.ts'
import { failuresOf, type Results } from './results.ts'
import { scalingTable } from './scaling-report.ts'
import { searchSentences, searchTable } from './search-report.ts'
import { table } from './table.ts'
import type { Webhooks } from './webhooks.ts'

const columns = [
  'scenario',
  'connections',
  'req/s',
  'least: one statement, tx/s (clients)',
  'ratio',
  'usual: a transaction, tx/s (clients)',
  'ratio',
  'p50 ms',
  'p99 ms',
  'CPU µs: web · Postgres · Redis',
  'Postgres µs: least · usual',
  'web MiB',
]
const peerColumns = ['peer req/s', 'times the peer']

export function markdown(results: Results): string {
  const { scenarios, lone, deletion, scaling, overload, feed, webhooks, machine, idleMiB, rounds, seconds } =
    results
  const failures = failuresOf(results)
  const facts = [
    ...(idleMiB ? [`A web process without work takes ${whole(idleMiB)} MiB.`] : []),
    ...(lone ? [singleClientSentence(lone)] : []),
    ...(deletion ? [deletionSentence(deletion)] : []),
    ...(overload ? [overloadSentence(overload)] : []),
    ...(results.import ? [importSentence(results.import)] : []),
    ...(results.claims ? [claimsSentence(results.claims)] : []),
    ...(feed ? feedSentences(feed) : []),
    ...(results.search ? searchSentences(results.search) : []),
    ...(webhooks ? [webhooksSentence(webhooks)] : []),
    ...failures.map((failure) => `Does not count: ${failure}.`),
  ]
  const method = `Medians of ${rounds} rounds of ${seconds} s, service and limits one after another; ratios are medians of those of the rounds.`
  return `${[
    ...scenarioTable(scenarios),
    '',
    ...(scaling ? [...scalingTable(scaling), ''] : []),
    ...(results.filters ? [...filterTable(results.filters), ''] : []),
    ...(results.search ? [...searchTable(results.search), ''] : []),
    ...(results.fair ? [...fairTable(results.fair), ''] : []),
    ...facts.map((fact) => `- ${fact}`),
    '',
    `${sentence(machine)} ${method}`,
  ]
    .join('\n')
    .trim()}\n`
}

function scenarioTable(rows: Row[]): string[] {
  if (rows.length === 0) return []
  const withPeer = rows.some(({ figures }) => figures.peer)
  const head = withPeer ? [...columns, ...peerColumns] : columns
  return table(
    head,
    rows.map((row) => cells(row).slice(0, head.length)),
  )
}

function cells({ title, connections, figures, ratios, clients }: Row): string[] {
  const { service, least, usual, peer } = figures
  return [
    title,
    String(connections),
    whole(service?.perSecond),
    least ? `${whole(least.perSecond)} (${clients.least})` : '–',
    times(ratios.least),
    usual ? `${whole(usual.perSecond)} (${clients.usual})` : '–',
    times(ratios.usual),
    tenths(service?.p50Ms),
    tenths(service?.p99Ms),
    [service?.cpu.web, service?.cpu.postgres, service?.cpu.redis].map(whole).join(' · '),
    [least?.cpu.postgres, usual?.cpu.postgres].map(whole).join(' · '),
    whole(service?.memoryMiB),
    whole(peer?.perSecond),
    times(ratios.peer),
  ]
}

const singleClientSentence = ({ createMs, insertMs, redisMs, ratio }: SingleClient) =>
  `A single client waits ${fine(createMs)} ms for a create: ${fine(ratio)} times a plain insert ` +
  `(${fine(insertMs)} ms) and a round trip to Redis (${fine(redisMs)} ms).`

const deletionSentence = ({ tasks, answerMs, goneAfterSeconds, before, during, p99Ratio }: Deletion) =>
  `Deleting a project of ${tasks.toLocaleString('en')} tasks during the mix takes ${tenths(answerMs)} ms; ` +
  `its rows are deleted ${tenths(goneAfterSeconds)} s later. The mix before: ${whole(before.perSecond)} req/s, ` +
  `p50 ${tenths(before.p50Ms)} ms, p99 ${tenths(before.p99Ms)} ms; during the deletion: ${whole(during.perSecond)} req/s, ` +
  `p50 ${tenths(during.p50Ms)} ms, p99 ${tenths(during.p99Ms)} ms (${fine(p99Ratio)} times; at worst ${tenths(during.worstP99Ms)} ms).`

const overloadSentence = (o: Overload) =>
  `Of ${whole(o.offeredPerSecond)} req/s from ${o.connections.toLocaleString('en')} connections in ${o.seconds} s ` +
  `(the capacity is ${whole(o.capacityPerSecond)}), ${whole(o.acceptedPerSecond)} were served; the p99 of a normal client was ` +
  `${whole(o.acceptedP99Ms)} ms; ${share(o.shedShare)} got 503, ${share(o.retryAfterShare)} of these with ` +
  `Retry-After, with a p99 of ${whole(o.shedP99Ms)} ms. Memory went from ${whole(o.memoryMiB[0] ?? undefined)} ` +
  `to at most ${whole(Math.max(...o.memoryMiB.map(Number)))} MiB. ` +
  (o.recoverySeconds === null
    ? 'It did not recover.'
    : `It recovered ${tenths(o.recoverySeconds)} s after the overload.`)

const webhooksSentence = ({ webhooks, writesPerSecond, delivery, without, ratio, ...w }: Webhooks) =>
  `With ${whole(webhooks)} webhooks and ${whole(writesPerSecond)} creates a second, an event is delivered ` +
  `${whole(delivery.p50Ms)} ms after its commit (p99 ${whole(delivery.p99Ms)} ms), ` +
  `with ${fine(delivery.events / delivery.posts)} events in a delivery. Creates go from ` +
  `${whole(without.perSecond)}/s, p50 ${tenths(without.p50Ms)} ms, p99 ${tenths(without.p99Ms)} ms with the webhooks ` +
  `disabled to ${whole(w.with.perSecond)}/s (${times(ratio)}), p50 ${tenths(w.with.p50Ms)} ms, p99 ${tenths(w.with.p99Ms)} ms. ` +
  `Both take ${Object.entries(w.cpu)
    .map(([who, micros]) => `${whole(micros)} µs ${who}`)
    .join(', ')}.`

const whole = (value?: number) => (value === undefined ? '–' : Math.round(value).toLocaleString('en'))
const tenths = (value?: number) => (value === undefined ? '–' : value.toFixed(1))
const fine = (value: number) => value.toFixed(2)
const share = (value: number) => `${(value * 100).toFixed(1)} %`
const times = (value?: number) => (value ? `${value.toFixed(2)}×` : '–')
