/** The parts of a file that an import reads. Readers of all sources return these items. */
export type ImportedItem = SpecItem | TaskItem | SubtaskItem | CommentItem
/** An item that is about the project, not a task. */
export type SpecItem = ProjectItem | LabelItem | FieldItem

interface Item {
  /** The number of the row in the file, from 1. A header is not counted. */
  row: number
}

export interface ImportedPerson {
  name: string
  email?: string
}

/** The description for a project without one. */
export interface ProjectItem extends Item {
  kind: 'project'
  description: string
}

/** A label with a color, or a label that no task has. Labels of tasks need no item of their own. */
export interface LabelItem extends Item {
  kind: 'label'
  name: string
  /** `#rrggbb` */
  color?: string
  createdAt?: string
}

/** A custom field. Fields that tasks have without such an item get the type `text`. */
export interface FieldItem extends Item {
  kind: 'field'
  key: string
  name: string
  type: 'text' | 'number' | 'boolean' | 'date' | 'choice'
  options?: string[]
  createdAt?: string
}

export interface TaskItem extends Item {
  kind: 'task'
  /** The id in the source. Without one, the task is found again by a digest of `path` and title. */
  key?: string
  /** The names of lists, sections and parents that contain the task, outermost first. Used only without a `key`. */
  path?: string[]
  /** Replaces `<source>:<key>`: the external id that the task had in another Docket. */
  externalId?: string
  /**
   * From an export of Docket: `key` is the id of the task, which this project may contain, and an absent value is an
   * empty value. A CSV export may lack the columns of some fields: their values are unknown.
   */
  isExported?: true
  /** The number of the task in its project. Tasks are created in the order of their numbers. */
  number?: number
  /** The `key` of the task before this one, or '', if the project's order is not the order of the numbers. */
  after?: string
  title: string
  description?: string
  /** The list, section, column or status in the source: see `statuses` of the mapping. */
  list?: string
  /** What the source says itself, such as a task that is complete. Takes precedence over `list`. */
  status?: 'TODO' | 'IN_PROGRESS' | 'DONE'
  priority?: 'LOW' | 'MEDIUM' | 'HIGH'
  /** ISO 8601 with an offset, or a date. So are all times. */
  dueDate?: string
  remindAt?: string
  createdAt?: string
  author?: ImportedPerson
  assignee?: ImportedPerson
  labels?: string[]
  /** By the keys of fields. */
  fields?: Record<string, string | number | boolean>
  /** The `key` of the task that this item is a part of. */
  parent?: string
  /** The `key`s of tasks that must be done before. */
  blockedBy?: string[]
  /** What no field can hold, such as `Estimate: 3 days`: the foot of the description, and the report. */
  notes?: string[]
  /** Lines for the report: what the reader changed or could not read. */
  messages?: string[]
  /** Why the row is rejected: a line for the report. */
  problem?: string
}

export interface SubtaskItem extends Item {
  kind: 'subtask'
  /** The `key` of the task. */
  task: string
  key?: string
  title: string
  completed: boolean
  createdAt?: string
  messages?: string[]
}

export interface CommentItem extends Item {
  kind: 'comment'
  /** The `key` of the task. */
  task: string
  key?: string
  text: string
  author?: ImportedPerson
  createdAt?: string
  messages?: string[]
}

export const isSpec = (item: ImportedItem): item is SpecItem =>
  item.kind === 'project' || item.kind === 'label' || item.kind === 'field'

/** The file, or a row of it, cannot be imported. The import ends with this message. */
export class ImportError extends Error {
  /** @param place such as `line 17`, or `row 3` */
  constructor(message: string, place?: string) {
    super(place ? `${message} (${place})` : message)
  }
}
