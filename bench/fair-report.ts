import type { Fair } from './fair.ts'
import { table } from './table.ts'

export function fairTable(rows: Fair[]): string[] {
  const head = [
    'flood',
    'connections',
    'read: alone → beside (elsewhere)',
    'patch',
    'flood req/s',
    'MiB more',
  ]
  const waits = (of: 'readP95Ms' | 'patchP95Ms', { alone, beside, elsewhere }: Fair) =>
    `${alone[of].toFixed(1)} → ${beside[of].toFixed(1)} (${elsewhere[of].toFixed(1)})`
  return table(
    head,
    rows.map((row) => [
      ...[row.title, String(row.connections), waits('readP95Ms', row), waits('patchP95Ms', row)],
      ...[row.floodPerSecond.toFixed(0), row.memoryMiB.toFixed(0)],
    ]),
  )
}
