import { ImportError } from '../../items.ts'
import { maxColumns, readRecords } from './records.ts'
import type { Open } from './text.ts'

export interface Header {
  delimiter: string
  /** The number of records up to the header, including the header. */
  skip: number
  names: string[]
}

const delimiters = [',', ';', '\t', '|']
/** Some systems write lines about the file above the header. */
const maxLinesAbove = 20
const maxNameCharacters = 500
const maxCharacters = maxColumns * maxNameCharacters

/**
 * Finds the separator and the header of a CSV file.
 * @param isTitle true for the names of columns that can be the title
 * @throws ImportError if the file is empty or broken
 */
export async function findHeader(open: Open, isTitle: (name: string) => boolean): Promise<Header> {
  let best: Header | undefined
  let error: unknown
  for (const delimiter of delimiters) {
    try {
      const header = await headerWith(open, delimiter, isTitle)
      if (header && rank(header, isTitle) > rank(best, isTitle)) best = header
    } catch (failure) {
      if (lineOf(failure) > lineOf(error)) error = failure
    }
  }
  // With a wrong separator, the whole header is one name.
  if (best && (!error || best.names.length > 1 || best.names.some(isTitle))) return best
  throw error ?? new ImportError('The file is empty')
}

/** Returns the line of an error; infinity for an unexpected error, which takes precedence. */
const lineOf = (error: unknown): number =>
  error instanceof ImportError ? Number(/ (\d+)\)$/.exec(error.message)?.[1] ?? 0) : error ? Infinity : -1

async function headerWith(open: Open, delimiter: string, isTitle: (name: string) => boolean) {
  let first: Header | undefined
  let skip = 0
  for await (const record of readRecords(open, delimiter, maxCharacters)) {
    const names = record.map((cell) => cell.trim().slice(0, maxNameCharacters))
    const filled = names.filter((name) => name !== '').length
    skip++
    if (filled > 0 && names.some(isTitle)) return { delimiter, skip, names }
    if (filled > 1 || skip > maxLinesAbove) return first ?? { delimiter, skip, names }
    if (filled === 1) first ??= { delimiter, skip, names }
  }
  return first
}

function rank(header: Header | undefined, isTitle: (name: string) => boolean): number {
  if (!header) return -1
  return header.names.length + (header.names.some(isTitle) ? maxColumns : 0)
}
