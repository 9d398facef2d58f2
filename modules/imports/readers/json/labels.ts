import type { LabelItem } from '../../items.ts'
import { colorOf } from './colors.ts'
import { maxNames } from './limits.ts'

/** Labels with colors that tasks of the file repeat. */
export class Labels {
  private readonly names = new Set<string>()

  /** Returns an item for a label that was not returned before. */
  newItem(name: string | undefined, color: string | undefined, row: number): LabelItem[] {
    const rgb = colorOf(color)
    if (!name || !rgb || this.names.has(name) || this.names.size === maxNames) return []
    this.names.add(name)
    return [{ kind: 'label', row, name, color: rgb }]
  }
}
