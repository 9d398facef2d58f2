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

/** A label with a color, or a label that no task has. Other labels of tasks need no item. */
export interface LabelItem extends Item {
  kind: 'label'
  name: string
  /** `#rrggbb` */
  color?: string
  createdAt?: string
}

/** A custom field. Without this item, a field of tasks has the type `text`. */
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
  /** The id in the source, or a digest that identifies the task in later imports. */
  key: string
  /** The file has no id of the task: `key` is a digest. */
  hasNoId?: true
  /** The external id, if the file has one. Default: `<source>:<key>`. */
  externalId?: string
  /**
   * The task is from an export of Docket: `key` is its id, which may be in this project, and an absent value is empty.
   * If a CSV export lacks the column of a field, the value is unknown.
   */
  isExported?: true
  /** The number of the task in its project. Tasks are created in the order of their numbers. */
  number?: number
  /** Only for a task that was moved: the `key` of the task before it, or '' for the first task. */
  after?: string
  title: string
  description?: string
  /** The list, section, column or status in the source: see `statuses` of the mapping. */
  list?: string
  /** The status in the source, such as DONE for a completed task. Takes precedence over `list`. */
  status?: 'TODO' | 'IN_PROGRESS' | 'DONE'
  priority?: 'LOW' | 'MEDIUM' | 'HIGH'
  /** All times are ISO 8601 with an offset, or dates. */
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
  /** If the item becomes a subtask: see `orderMs` of the subtask. */
  orderMs?: number
  /** The `key`s of tasks that must be done before. */
  blockedBy?: string[]
  /** Lines for the foot of the description and the report: values without a field, such as `Estimate: 3 days`. */
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
  /** The key of the same subtask in a CSV export, which has no ids of subtasks. */
  csvKey?: string
  title: string
  completed: boolean
  createdAt?: string
  /** The time in the id of the subtask, in ms since 1970. Lists sort subtasks by id. Default: `createdAt` */
  orderMs?: number
  messages?: string[]
}

export interface CommentItem extends Item {
  kind: 'comment'
  /** The `key` of the task. */
  task: string
  key?: string
  /** The key of the same comment in a CSV export, which has no ids of comments. */
  csvKey?: string
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
