// The data of the board. The rows are those of the API.
import type { Label, Member, Project, Task as ApiTask } from '../typescript/src/schemas.ts'

export type Task = ApiTask & { position: string }
export type Status = Task['status']
export type Columns = Record<Status, Task[]>

export interface ProjectEvent {
  seq: number
  id: string
  type: string
  entity: string
  entityId: string
  taskId: string | null
  batch: number | null
  undoes?: number
  actor: { id: string; name: string | null }
  at: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/**
 * A project at a version. `since` is the version of its snapshot. Tasks keep the ids of labels and blockers that were
 * deleted after the snapshot, because an undo may restore them; `removed` has these ids.
 */
export interface State {
  version: number
  since: number
  project: Project
  tasks: Map<string, Task>
  labels: Map<string, Label>
  members: Map<string, Member>
  removed: Set<string>
}

export interface Filter {
  text: string
  label: string
  assignee: string
  ready: boolean
}

/** A place in a column: before or after another card; without both, at the end. */
export interface Place {
  status: Status
  before?: string | undefined
  after?: string | undefined
}

export interface Call {
  method: string
  path: string
  body?: object
  key?: string
  ifMatch?: string
}

export interface Answer {
  body: never
  etag: string | null
  /** The parameter of the next page of a list. */
  next: string | null
}

interface Failure extends Error {
  status: number
  isTemporary: boolean
}
type Recovery = Partial<Change> | null | undefined

/**
 * A write, with its effect on the board. `about` names it in messages. `patch` is null if it deletes the task. `recover`
 * may return other values for a second request, or null if the person knows the error.
 */
export interface Change extends Call {
  about: string
  taskId?: string
  patch?: Partial<Task> | null
  /** The id of the row that the write deletes: its response has no ETag. */
  removes?: string
  isUndo?: boolean
  recover?(error: Failure): Recovery | Promise<Recovery>
}

/** A write that waits for its response, then for its event in the feed. `since`: the version of the board before it. */
export interface Write extends Change {
  key: string
  since: number
  eventId?: string
  isAnswered?: boolean
}

export interface Session {
  token: string
  user: { id: string; name: string; email: string }
}

/** The response to a sign-in. */
export interface SignedIn {
  access_token: string
  user: Session['user']
}

export interface Undo {
  about: string
  body: { seq: number } | { batch: number }
}

export interface Past {
  version: number
  at: string
  about: string
  state: State
}

/** The rows of the opened card. `tag` is the ETag of the task. */
export interface Card {
  id: string
  tag: string
  subtasks: { id: string; title: string; completed: boolean }[]
  comments: {
    id: string
    text: string
    author: { name: string } | null
    importedAuthor: string | null
    createdAt: string
  }[]
  history: ProjectEvent[]
}

/** The text of a field that a person changes; `base` and `tag` are the text and the ETag from which the edit began. */
export interface Draft {
  text: string
  base: string
  tag: string
}

export interface Conflict {
  field: 'title' | 'description'
  theirs: string
  tag: string
}

export interface CardProps {
  task: Task
  /** Null for a card without blockers. */
  tasks: Map<string, Task> | null
  labels: Map<string, Label>
  person: string | undefined
  /** 0 in the past. */
  now: number
  isStop: boolean
  isDragged: boolean
  isEdited: boolean
  isReadOnly: boolean
  hasMenu: boolean
}

/** A press of a card. `ghost` and `line` exist after the start of the drag: the copy of the card, and the place of the drop. */
export interface Drag {
  id: string
  card: HTMLElement
  x: number
  y: number
  startX: number
  startY: number
  place?: Place
  ghost?: HTMLElement
  line?: HTMLElement
  end(): void
}
