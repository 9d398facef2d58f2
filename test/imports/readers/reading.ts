import '../../../modules/modules.ts'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Mapping } from '../../../modules/imports/mapping.ts'
import type { Reader } from '../../../modules/imports/readers/reader.ts'

export interface Reading {
  items: ImportedItem[]
  /** The mapping that the reader proposed. */
  proposal: Mapping
  /** The lines about the whole file. */
  messages: string[]
}

/** Reads a file in parts of a few bytes, so that parts begin within characters and lines. */
export async function reading(
  reader: Reader,
  file: string | Uint8Array,
  { mapping = {}, partBytes = 7 }: { mapping?: Mapping; partBytes?: number } = {},
): Promise<Reading> {
  const bytes = typeof file === 'string' ? new TextEncoder().encode(file) : file
  const proposal: Mapping = {}
  async function* open() {
    for (let i = 0; i < bytes.length; i += partBytes) yield bytes.subarray(i, i + partBytes)
  }
  const items: ImportedItem[] = []
  const propose = (part: Mapping) => Object.assign(proposal, part)
  const messages: string[] = []
  const report = (message: string) => void messages.push(message)
  for await (const item of reader({ open, mapping, propose, report })) items.push(item)
  return { items, proposal, messages }
}

/** Returns the tasks without the keys that are digests. */
export const tasksOf = ({ items }: Pick<Reading, 'items'>) => items.filter((item) => item.kind === 'task')
