import type { LabelItem } from '../../items.ts'
import { KeyMap } from '../key-map.ts'
import { colorOf, type Colors } from './colors.ts'
import type { Entry } from './entry.ts'
import { itemOf } from './items.ts'
import { maxNames } from './limits.ts'

/** The labels of a board, and their names by their ids. */
export interface BoardLabels {
  items: LabelItem[]
  names: ReadonlyMap<string, string>
}

export const boardLabels = (
  labels: Entry[],
  colors: Colors,
  idOf = (label: Entry) => label.required('id'),
): BoardLabels => ({
  items: labels.map((label, n) => {
    const color = colorOf(label.text('color'), colors)
    return itemOf({ kind: 'label', row: n + 1, name: labelName(label), color })
  }),
  names: new Map(labels.map((label) => [idOf(label), labelName(label)])),
})

/** Boards show a label without a name as its color. */
export const labelName = (label: Entry): string => label.text('name') ?? label.text('color') ?? 'label'

/** Collects labels with colors. Each task of the file repeats its labels. */
export class Labels {
  private readonly names = new KeyMap<true>()

  /** Returns an item for a label that was not returned before. */
  newItem(name: string | undefined, color: string | undefined, row: number): LabelItem[] {
    const rgb = colorOf(color)
    if (!name || !rgb || this.names.has(name) || this.names.size === maxNames) return []
    this.names.set(name, true)
    return [{ kind: 'label', row, name, color: rgb }]
  }
}
