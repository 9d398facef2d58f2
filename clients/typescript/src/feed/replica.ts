import { taskFields } from '../declarations.ts'
import type { Field, Label, Task } from '../schemas.ts'
import type { FeedEvent, Snapshot } from './events.ts'

/** The maximum number of ids of deleted rows that a replica stores. If an undo restores another row, a new snapshot is necessary. */
const maxRemoved = 10_000

type TaskEvent = Extract<FeedEvent, { entity: 'task' }>
type LabelEvent = Extract<FeedEvent, { entity: 'label' }>
type FieldEvent = Extract<FeedEvent, { entity: 'field' }>

/**
 * A copy of the tasks of a project, which events update. The copy contains the ids of deleted labels and blockers, because
 * an undo may restore these rows. `task()` returns a task as the service shows it, without these ids.
 */
export class Replica {
  private readonly rows = new Map<string, Task>()
  private readonly labels = new Map<string, Label>()
  private readonly fields = new Map<string, Field>()
  private readonly removed = new Set<string>()
  private readonly references = new References()

  constructor({ tasks, labels, fields }: Pick<Snapshot, 'tasks' | 'labels' | 'fields'>) {
    for (const label of labels) this.labels.set(label.id, label)
    for (const field of fields) this.fields.set(field.id, field)
    for (const task of tasks) this.store(task)
  }

  task(id: string): Task | undefined {
    const row = this.rows.get(id)
    return row && this.shown(row)
  }

  contents(): Pick<Snapshot, 'tasks' | 'labels' | 'fields'> {
    const tasks = [...this.rows.values()].map((row) => this.shown(row))
    return { tasks, labels: [...this.labels.values()], fields: [...this.fields.values()] }
  }

  /**
   * Applies the next event, and returns the ids of the tasks that may have changed. Returns null if the replica lacks ids
   * or values that the service shows again after this event. Then the caller must read a new snapshot.
   */
  apply(event: FeedEvent): Iterable<string> | null {
    if (event.type === 'project.deleted') return this.clear()
    if (event.entity === 'task') return this.applyTask(event)
    if (event.entity === 'label') return this.applyLabel(event)
    return event.entity === 'field' ? this.applyField(event) : []
  }

  private applyTask(event: TaskEvent): Iterable<string> | null {
    const { entityId: id, before, after, undoes } = event
    const row = this.rows.get(id)
    if (!after) {
      this.drop(id)
      return [id, ...this.references.to(id)]
    }
    // Several events move a large task in. The task has left the project again before the snapshot.
    if (before && !row) return []
    const changed = withoutChildren(after)
    const base = before ? row : undefined
    const fields = changed.fields && fieldsAfter(base?.fields, before?.fields, changed.fields)
    this.store({ ...base, ...changed, ...(fields && { fields }) } as Task)
    if (before) return [id]
    return undoes && !this.removed.has(id) ? null : [id, ...this.references.to(id)]
  }

  private applyLabel({ entityId: id, after, undoes }: LabelEvent): Iterable<string> | null {
    if (!after) {
      this.labels.delete(id)
      this.remember(id)
    } else this.labels.set(id, { ...this.labels.get(id), ...after } as Label)
    return after && undoes && !this.removed.has(id) ? null : this.references.to(id)
  }

  private applyField({ entityId: id, before, after, undoes }: FieldEvent): Iterable<string> | null {
    const all = this.rows.keys()
    if (!after) {
      this.fields.delete(id)
      this.remember(id)
      return all
    }
    this.fields.set(id, { ...this.fields.get(id), ...after } as Field)
    const mayShowOthers = before ? after.options !== undefined : !(undoes && this.removed.has(id))
    return mayShowOthers && this.rows.size > 0 ? null : all
  }

  private shown(row: Task): Task {
    const labelIds = existing(row.labelIds, this.labels)
    const blockedByIds = existing(row.blockedByIds, this.rows)
    const fields = shownFields(row.fields, this.fields.values())
    return { ...row, labelIds, blockedByIds, fields }
  }

  private store(task: Task): void {
    this.references.replace(this.rows.get(task.id), task)
    this.rows.set(task.id, task)
  }

  private drop(id: string): void {
    this.references.replace(this.rows.get(id), undefined)
    this.rows.delete(id)
    this.remember(id)
  }

  private remember(id: string): void {
    if (this.removed.size >= maxRemoved) this.removed.clear()
    this.removed.add(id)
  }

  private clear(): Iterable<string> {
    const ids = [...this.rows.keys()]
    for (const id of ids) this.drop(id)
    return ids
  }
}

/** Returns a task without the lists of its children, which `task.moved_in` contains; also without unknown lists. */
function withoutChildren(after: object): Partial<Task> {
  const isOwn = ([name, value]: [string, unknown]) => listNames.includes(name) || !Array.isArray(value)
  return Object.fromEntries(Object.entries(after).filter(isOwn))
}
const listNames: string[] = taskFields.flatMap(({ name, default: none }) =>
  Array.isArray(none) ? [name] : [],
)

const existing = (ids: string[], rows: ReadonlyMap<string, unknown>): string[] =>
  ids.filter((id) => rows.has(id))

type Referring = Pick<Task, 'id' | 'labelIds' | 'blockedByIds'>

/** An index of tasks by the ids of their labels and blockers. */
class References {
  private readonly taskIdsById = new Map<string, Set<string>>()

  /** Returns the ids of the tasks with this label or blocker. */
  to(id: string): Iterable<string> {
    return this.taskIdsById.get(id) ?? []
  }

  /** Replaces the references of a task. */
  replace(before: Referring | undefined, after: Referring | undefined): void {
    for (const id of idsIn(before)) {
      const taskIds = this.taskIdsById.get(id)
      taskIds?.delete(before!.id)
      if (taskIds?.size === 0) this.taskIdsById.delete(id)
    }
    for (const id of idsIn(after)) {
      const taskIds = this.taskIdsById.get(id) ?? new Set()
      this.taskIdsById.set(id, taskIds.add(after!.id))
    }
  }
}

const idsIn = (task: Referring | undefined) => (task ? [...task.labelIds, ...task.blockedByIds] : [])

type Values = Task['fields']

/**
 * Returns the values of custom fields after an event. `after` of the event also contains hidden values, such as the values
 * of deleted fields. So a value that the event has not changed is omitted if it is not in `present`.
 */
function fieldsAfter(present: Values = {}, before: Values = {}, after: Values): Values {
  const isShown = ([key, value]: [string, unknown]) => before[key] !== value || key in present
  return Object.fromEntries(Object.entries(after).filter(isShown))
}

/** Returns the values that the service shows: the project has a field with this key that accepts the value. */
function shownFields(values: Values, fields: Iterable<Field>): Values {
  if (Object.keys(values).length === 0) return values
  const byKey = new Map([...fields].map((field) => [field.key, field]))
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => fits(byKey.get(key), value)))
}

function fits(field: Field | undefined, value: unknown): boolean {
  if (!field) return false
  if (field.type === 'choice') return field.options!.includes(String(value))
  if (field.type === 'date') return /^\d{4}-\d\d-\d\d$/.test(String(value))
  return typeof value === (field.type === 'text' ? 'string' : field.type)
}
