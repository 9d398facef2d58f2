import type { Distribution } from './distribution.ts'

type Labels = Record<string, string>
type Labelled<T> = [Labels, T][]

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

const simple =
  (type: Family['type']) =>
  (name: string, help: string, given: Labelled<number> | number): Family => {
    const all: Labelled<number> = typeof given === 'number' ? [[{}, given]] : given
    const values = all.map(([labels, value]) => ({ labels, value }))
    return { name: `docket_${name}`, help, type, values, aggregator: 'sum' }
  }

export const counter = simple('counter')
export const gauge = simple('gauge')

export function histogram(name: string, help: string, given: Labelled<Distribution> | Distribution): Family {
  const all: Labelled<Distribution> = Array.isArray(given) ? given : [[{}, given]]
  const full = `docket_${name}`
  const values = all.flatMap(([labels, distribution]) => valuesOf(full, labels, distribution))
  return { name: full, help, type: 'histogram', values, aggregator: 'sum' }
}

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
