import type { TaskRow } from '../../drizzle/rows.ts'
import type { SearchQuery } from '../search/text/query.ts'
import type { SortKey } from '../tasks/kinds.ts'
import type { FieldName } from '../tasks/schema.ts'
import type { FieldParameter } from './custom-fields.ts'

/** An order of the list. Without a key, tasks are sorted by id, which is the order of their creation. */
export interface Sort {
  /** SQL for the key of a task `t`, its SQL type, and keys before and after all tasks. */
  key?: { sql: string; type: string; first: string; last: string }
  /** True if all keys differ, so that the order needs no id. */
  hasUniqueKeys?: true
  /** The field whose bounds the indexes of this order serve. */
  field?: string
  /** The fields whose values the indexes of this order contain. */
  indexed: readonly string[]
  /** Returns the values of a row that a cursor contains. */
  cursorOf(row: TaskRow): (string | null)[]
  /** A check for each value of a cursor. */
  parts: ((part: unknown) => boolean)[]
}

/** A missing bound is undefined. */
export interface Bounds {
  field: FieldName
  key: SortKey
  from: string | undefined
  to: string | undefined
}

/** The query of a list of tasks. */
export interface TaskFilter {
  caller: string
  projectId: string | undefined
  tokenProjects: string[] | null
  limit: number
  sort: Sort
  descends: boolean
  /** The sort key of the last row on the previous page, as `sort.cursorOf` returns it. */
  after: (string | null)[] | null
  /** Values of the fields that most indexes contain. */
  is: { status?: string; priority?: string; assigneeId?: string; [field: string]: string | undefined }
  bounds: Bounds[]
  /** Values of the filters in `filters.ts`. */
  others: { name: string; value: unknown }[]
  /** The list contains only tasks that the caller could do now. */
  ready: boolean
  /** Filters by custom fields. */
  fields: FieldParameter[] | undefined
  q: SearchQuery | undefined
}
