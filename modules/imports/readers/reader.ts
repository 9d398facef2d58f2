import type { ImportedItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'

export interface ReaderInput {
  /** Reads the file from its start, unpacked. A reader may do this several times: first names of lists, then tasks. */
  open(): AsyncIterable<Uint8Array>
  mapping: Mapping
  /** Adds what the reader found out to the mapping that the import shows. The given mapping takes precedence. */
  propose(part: Mapping): void
  /** Names the fields that the file has columns for, as the mapping names them. Without a call: all fields. */
  declareFields(names: string[]): void
  /** Adds a line about the whole file to the report. */
  report(message: string): void
}

/**
 * Reads the items of a file in its order, in bounded memory. The same file with the same mapping gives the same items.
 * @throws ImportError if the file is broken
 */
export type Reader = (input: ReaderInput) => AsyncIterable<ImportedItem>
