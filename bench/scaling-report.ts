import { type ScalingRow, sum } from './scaling.ts'
import { table } from './table.ts'

export function scalingTable(scaled: ScalingRow[]): string[] {
  const [first] = scaled
  if (!first) return []
  const columns = first.spent.flatMap(({ webs }) => [
    `${webs} web: connections`,
    'CPU µs: web · Postgres · Redis',
    ...(webs > 1 ? ['beside one', 'req/s beside one'] : []),
    'p50 ms',
  ])
  const rows = scaled.map(({ title, spent }) => [
    title,
    ...spent.flatMap(({ webs, connections, figures, ratio, throughput }) => [
      String(connections),
      figures ? `${whole(sum(figures.cpu))}: ${parts(figures.cpu)}` : '–',
      ...(webs > 1 ? [times(ratio), times(throughput)] : []),
      figures?.p50Ms?.toFixed(1) ?? '–',
    ]),
  ])
  return table(['what a request costs', ...columns], rows)
}

const times = (ratio: number | undefined) => (ratio ? `${ratio.toFixed(2)}×` : '–')
const whole = (value: number) => String(Math.round(value))
const parts = ({ web = 0, postgres = 0, redis = 0 }) => [web, postgres, redis].map(whole).join(' · ')
