import type { ChildOfTask } from '../../src/model/entities.ts'
import type { FieldInput } from '../fields/schema.ts'
import type { TaskInput } from '../tasks/schema.ts'

/** The records of a file that an import reads, as the lines of an export. Readers of all sources return these items. */
export type ImportedItem = SpecItem | TaskItem | SubtaskItem | CommentItem | ChildItem
/** An item that is about the project, not a task. */
type SpecItem = ProjectItem | LabelItem | FieldItem

interface Item {
  /** The number of the row in the file, from 1. A header is not counted. */
  row: number
}

export interface ImportedPerson {
  name: string
  email?: string
}

/** The description for a project without one, and its setting if it is not the default. */
export interface ProjectItem {
  kind: 'project'
  description?: string
  textEdits?: 'if-match'
}

/** A label with a color, or a label that no task has. Other labels of tasks need no item. */
export interface LabelItem {
  kind: 'label'
  name: string
  /** `#rrggbb` */
  color?: string
  createdAt?: string
}

/** A custom field. Without this item, a field of tasks has the type `text`. */
export interface FieldItem extends Pick<FieldInput, 'key' | 'name' | 'type'> {
  kind: 'field'
  options?: string[]
  createdAt?: string
}

type Values = Pick<TaskInput, 'status' | 'priority'> & {
  [Name in 'description' | 'dueDate' | 'remindAt' | 'externalId']?: string
}

/** All times are ISO 8601 with an offset, or dates. Other fields of tasks have their names in the schema of tasks. */
export interface TaskItem extends Item, Values {
  kind: 'task'
  /** The id in the source, or a digest that identifies the task in later imports. The default external id is `<source>:<key>`. */
  key: string
  /** The file has no id of the task: `key` is a digest. */
  hasNoId?: true
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
  /** The list, section, column or status in the source: see `statuses` of the mapping. `status` takes precedence. */
  list?: string
  createdAt?: string
  author?: ImportedPerson
  assignee?: ImportedPerson
  labels?: string[]
  /** The values of custom fields by the keys of the fields. */
  fields?: Record<string, string | number | boolean>
  /** The `key` of the task that this item is a part of. */
  parent?: string
  /** The `key`s of tasks that must be done before. */
  blockedBy?: string[]
  /** Lines for the foot of the description and the report: values without a field, such as `Estimate: 3 days`. */
  notes?: string[]
  /** Lines for the report: what the reader changed or could not read. */
  messages?: string[]
  /** Why the row is rejected: a line for the report. */
  problem?: string
}

/** A part of a task, such as a comment, with the fields that the entity declares. */
export interface ChildItem extends Item {
  kind: ChildOfTask
  /** The `key` of the task. */
  task: string
  key?: string
  /** The key of the same child in a CSV export, which has no ids of children. */
  csvKey?: string
  createdAt?: string
  author?: ImportedPerson
  messages?: string[]
}

export interface SubtaskItem extends ChildItem {
  kind: 'subtask'
  title: string
  completed: boolean
}

export interface CommentItem extends ChildItem {
  kind: 'comment'
  text: string
}

export const isChild = (item: ImportedItem): item is Exclude<ImportedItem, SpecItem | TaskItem> =>
  !isSpec(item) && item.kind !== 'task'
export const isSpec = (item: ImportedItem): item is SpecItem =>
  item.kind === 'project' || item.kind === 'label' || item.kind === 'field'

/** The file, or a row of it, cannot be imported. The import ends with this message. */
export class ImportError extends Error {
  /** @param place such as `line 17`, or `row 3` */
  constructor(message: string, place?: string) {
    super(place ? `${message} (${place})` : message)
  }
}
