import type { ImportedItem } from '../items.ts'
import type { Mapping } from '../mapping.ts'

export interface ReaderInput {
  /** Reads the unpacked file from its start. A reader may call it several times: for names of lists, then for tasks. */
  open(): AsyncIterable<Uint8Array>
  mapping: Mapping
  /** Adds a part to the proposed mapping, which the import shows. The given mapping takes precedence. */
  propose(part: Mapping): void
  /** Adds a line about the whole file to the report. */
  report(message: string): void
}

/**
 * Reads the items of a file in its order, in bounded memory. The same file with the same mapping gives the same items.
 * @throws ImportError if the file is broken
 */
export type Reader = (input: ReaderInput) => AsyncIterable<ImportedItem>
