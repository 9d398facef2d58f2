import { unescapeFormula } from '../../../exports/cells.ts'

export const maxCellCharacters = 100_000

/** A row of the file, and its cells by plain header. */
export class Row {
  /** From 1; the header is not counted. */
  number = 0
  cells: string[] = []
  /** True for the header of a second file that was appended. */
  repeatsHeader = false
  private readonly indexes = new Map<string, number[]>()

  /** @param names the headers in plain English */
  constructor(names: string[]) {
    for (const [index, name] of names.entries()) {
      const indexes = this.indexes.get(name) ?? []
      this.indexes.set(name, [...indexes, index])
    }
  }

  has(name: string): boolean {
    return this.indexes.has(name)
  }

  /** Returns the first text in the columns with this name, or an empty text. */
  text(name: string): string {
    return this.texts(name)[0] ?? ''
  }

  texts(name: string): string[] {
    const indexes = this.indexes.get(name) ?? []
    return indexes.map((index) => this.at(index).trim()).filter((text) => text !== '')
  }

  at(index: number): string {
    const cell = this.cells[index]
    return cell === undefined ? '' : unescaped(cell)
  }
}

export function unescaped(cell: string): string {
  const text = cell.startsWith("'") ? unescapeFormula(cell) : cell
  return text.length > maxCellCharacters
    ? text.slice(0, maxCellCharacters).replace(/[\ud800-\udbff]$/, '')
    : text
}
