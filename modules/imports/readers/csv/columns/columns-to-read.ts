import type { FieldItem } from '../../../items.ts'
import type { Column } from './columns.ts'
import { fieldName } from './header-names.ts'
import type { Target } from './targets.ts'
import type { FieldType, Survey } from './survey.ts'

/** A project has at most this many fields. Further columns go to the foot of the description. */
const maxFields = 50

export interface ReadColumn extends Column {
  target: Target
  type: FieldType
}

export interface ColumnsToRead {
  columns: ReadColumn[]
  fields: FieldItem[]
  /** The proposed target of each header. Null: not imported. */
  proposal: Record<string, string | null>
}

/**
 * Selects the columns with values. Columns without a known target become custom fields, up to the limit of a project.
 * @param reads the columns that the source reads itself: they have no target, but are imported
 */
export function columnsToRead(
  columns: Column[],
  survey: Survey,
  reads: readonly string[] = [],
): ColumnsToRead {
  const fields = new Map<string, FieldItem>()
  const proposal = new Map<string, string | null>()
  const toRead = columns.flatMap((column): ReadColumn[] => {
    const target = survey.hasValues(column) ? targetWithinLimit(column, fields) : emptyTarget(column)
    const isReadElsewhere = target === null && reads.includes(column.plain)
    if (!isReadElsewhere && !proposal.get(column.header)) proposal.set(column.header, target)
    if (target === null || !survey.hasValues(column)) return []
    const type = isRepeated(column, columns) ? 'text' : survey.typeOf(column)
    const key = target === 'completed' ? column.key : target.slice('field.'.length)
    if (target.startsWith('field.') || (target === 'completed' && survey.hasOtherAnswers(column)))
      fields.set(key, { kind: 'field', row: 1, key, name: fieldName(column.header), type })
    return [{ ...column, target, type }]
  })
  return { columns: toRead, fields: [...fields.values()], proposal: Object.fromEntries(proposal) }
}

const emptyTarget = ({ isUnknown, target }: Column) => (isUnknown ? null : target)

function targetWithinLimit({ isUnknown, target, key }: Column, fields: Map<string, FieldItem>) {
  return isUnknown && fields.size >= maxFields && !fields.has(key) ? 'notes' : target
}

const isRepeated = ({ header, index }: Column, columns: Column[]) =>
  columns.some((other) => other.header === header && other.index !== index)
