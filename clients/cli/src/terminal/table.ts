import { fitted, printable, widthOf } from './text.ts'

export interface Column<Row> {
  title: string
  value: (row: Row) => string | number | null | undefined
  /** If the table is wider than the terminal, flexible columns become narrower and their texts are cut. */
  isFlexible?: boolean
}

const gap = 2
const minFlexibleWidth = 8

/** Returns the lines of a table. The first line has the titles. Columns without values are omitted. */
export function tableLines<Row>(rows: Row[], columns: Column<Row>[], maxWidth: number): string[] {
  const cellsOf = (column: Column<Row>) => rows.map((row) => printable(String(column.value(row) ?? '')))
  const shown = columns
    .map((column) => ({ column, cells: cellsOf(column) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map(({ column, cells }) => ({ column, cells: [column.title, ...cells] }))
  const widths = shown.map(({ cells }) => cells.reduce((most, cell) => Math.max(most, widthOf(cell)), 0))
  const flexible = shown.flatMap(({ column }, index) => (column.isFlexible ? index : []))
  shrink(widths, flexible, maxWidth - gap * (shown.length - 1))
  return [undefined, ...rows].map((_, line) =>
    shown
      .map(({ cells }, index) => fitted(cells[line]!, widths[index]!))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

/** Narrows the widest flexible column, one column of characters at a time, until all widths fit. */
function shrink(widths: number[], flexible: number[], maxWidth: number): void {
  let excess = widths.reduce((sum, width) => sum + width, 0) - maxWidth
  for (; excess > 0; excess--) {
    const widest = flexible.reduce((most, index) => (widths[index]! > (widths[most] ?? 0) ? index : most), -1)
    if (widest < 0 || widths[widest]! <= minFlexibleWidth) return
    widths[widest]!--
  }
}
