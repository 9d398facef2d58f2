import type { Distribution } from './distribution.ts'

type Labels = Record<string, string>
export type Labelled<T> = [Labels, T]

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

/** A metric with all that it says, as prom-client reads it; plain data, also for another process. */
export interface Family {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  values: Value[]
  aggregator: 'sum'
}

const labelled = <T>(given: Labelled<T>[] | T): Labelled<T>[] =>
  Array.isArray(given) ? given : [[{}, given]]

const simple =
  (type: Family['type']) =>
  (name: string, help: string, given: Labelled<number>[] | number): Family => {
    const values = labelled(given).map(([labels, value]) => ({ labels, value }))
    return { name: `docket_${name}`, help, type, values, aggregator: 'sum' }
  }

export const counter = simple('counter')
export const gauge = simple('gauge')

export function histogram(
  name: string,
  help: string,
  given: Labelled<Distribution>[] | Distribution,
): Family {
  const full = `docket_${name}`
  const values = labelled(given).flatMap(([labels, distribution]) => valuesOf(full, labels, distribution))
  return { name: full, help, type: 'histogram', values, aggregator: 'sum' }
}

/** A value for each name, which `label` holds. */
export const by = <T>(label: string, named: Record<string, T>): Labelled<T>[] =>
  Object.entries(named).map(([name, value]) => [{ [label]: name }, value])

/** How far the last of a kind of followers is behind. */
export const lagFamilies = (follower: string, events: number, seconds: number): Family[] => [
  gauge(
    'follower_lag_events',
    'What the last of the followers was not sent yet.',
    by('follower', { [follower]: events }),
  ),
  gauge(
    'follower_lag_seconds',
    'For how long the last of the followers has been behind.',
    by('follower', { [follower]: seconds }),
  ),
]

function valuesOf(name: string, labels: Labels, { bounds, counts, sum }: Distribution): Value[] {
  let upTo = 0
  const buckets = [...counts].map((count, n) => {
    upTo += count
    return { labels: { ...labels, le: bounds[n] ?? '+Inf' }, value: upTo, metricName: `${name}_bucket` }
  })
  const of = (suffix: string, value: number) => ({ labels, value, metricName: `${name}_${suffix}` })
  return [...buckets, of('sum', sum), of('count', upTo)]
}

/** The same families as those of one process among several. */
export const ofProcess = (process: string, families: Family[]): Family[] =>
  families.map((family) => ({
    ...family,
    values: family.values.map((value) => ({ ...value, labels: { ...value.labels, process } })),
  }))
