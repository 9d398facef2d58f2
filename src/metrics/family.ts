type Labels = Record<string, string>
export type WithLabels<T> = [Labels, T]

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

/** The format of prom-client: plain data, which can be sent to another process. */
export interface Family {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  values: Value[]
  aggregator: 'sum'
}

const familyOf =
  <T>(type: Family['type'], valuesOf: (labels: Labels, value: T, name: string) => Value[]) =>
  (plainName: string, help: string, data: WithLabels<T>[] | T): Family => {
    const name = `docket_${plainName}`
    const all: WithLabels<T>[] = Array.isArray(data) ? data : [[{}, data]]
    const values = all.flatMap(([labels, value]) => valuesOf(labels, value, name))
    return { name, help, type, values, aggregator: 'sum' }
  }

export const counter = familyOf<number>('counter', (labels, value) => [{ labels, value }])
export const gauge = familyOf<number>('gauge', (labels, value) => [{ labels, value }])
export const histogram = familyOf<Distribution>('histogram', (labels, { bounds, counts, sum }, name) => {
  let upTo = 0
  const buckets = [...counts].map((count, n) => {
    upTo += count
    return { labels: { ...labels, le: bounds[n] ?? '+Inf' }, value: upTo, metricName: `${name}_bucket` }
  })
  const of = (suffix: string, value: number) => ({ labels, value, metricName: `${name}_${suffix}` })
  return [...buckets, of('sum', sum), of('count', upTo)]
})

export function lagFamilies(follower: string, events: number, seconds: number): Family[] {
  const labels = { follower }
  return [
    gauge('follower_lag_events', 'Events not yet sent to the slowest subscriber.', [[labels, events]]),
    gauge('follower_lag_seconds', 'Time since the slowest subscriber fell behind.', [[labels, seconds]]),
  ]
}

export const labelledBy = <T>(label: string, named: Record<string, T>): WithLabels<T>[] =>
  Object.entries(named).map(([name, value]) => [{ [label]: name }, value])

export const withProcessLabel = (process: string, families: Family[]): Family[] =>
  families.map((family) => ({
    ...family,
    values: family.values.map((value) => ({ ...value, labels: { ...value.labels, process } })),
  }))

const secondsBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
  ...[0.25, 0.5, 1, 2.5, 5, 10, 30],
]

export class Distribution {
  readonly counts: Float64Array
  sum = 0

  constructor(readonly bounds: readonly number[] = secondsBounds) {
    this.counts = new Float64Array(bounds.length + 1)
  }

  get total(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  add(value: number): void {
    let at = 0
    while (value > this.bounds[at]!) at++
    this.counts[at]!++
    this.sum += value
  }

  addSince(startedAt: number): void {
    this.add((performance.now() - startedAt) / 1_000)
  }
}
