import { cut } from '../convert/texts.ts'
import { FieldKeys } from '../convert/fields.ts'
import {
  type FieldItem,
  ImportError,
  type ImportedItem,
  type ImportedPerson,
  type TaskItem,
} from '../items.ts'
import type { Entry } from './json/entry.ts'
import { JsonFile, maxLinks, maxNames } from './json/json-file.ts'
import { itemOf, lostTime, namesNote, note, personOf, SubtaskOrder } from './json/parts.ts'
import { KeyMap } from './key-map.ts'
import type { Reader } from './reader.ts'

const omit = ['followers', 'hearts', 'likes', 'workspace', 'photo', 'html_notes']

interface FileState {
  fields: AsanaFields
  /** The tasks read so far. A subtask may be in the file twice: in the list, and within its task. */
  keys: KeyMap<true>
  order: SubtaskOrder
}

/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson: Reader = async function* ({ open }) {
  const state: FileState = { fields: new AsanaFields(), keys: new KeyMap(), order: new SubtaskOrder() }
  let isEmpty = true
  for await (const task of new JsonFile(open).read(['data.*', '*'], { omit, documents: 'many' })) {
    // A page of the API also contains the address of the next page.
    if ((task.part === '*' && !task.has('gid')) || (task.text('resource_type') ?? 'task') !== 'task') continue
    isEmpty = false
    yield* itemsOf(task, state)
  }
  if (isEmpty) throw new ImportError('The file has no tasks: expected the JSON export of an Asana project')
}

function* itemsOf(task: Entry, state: FileState, parent?: string): Generator<ImportedItem> {
  const key = task.required('gid')
  // A section in the list of tasks is not a task. Its tasks name the section.
  if (task.text('resource_subtype') === 'section' || state.keys.has(key)) return
  if (state.keys.size < maxLinks) state.keys.set(key, true)
  const { items, fields, notes, messages } = state.fields.of(task)
  yield* items
  const item = taskOf(task, parent ?? task.entry('parent')?.text('gid'))
  const whole = itemOf<TaskItem>({ ...item, fields, notes: [...(item.notes ?? []), ...notes], messages })
  yield* parent === undefined ? [whole] : state.order.add([whole])
  for (const story of [...task.entries('stories'), ...task.entries('comments')]) {
    if ((story.text('type') ?? 'comment') !== 'comment') continue
    yield itemOf({
      ...{
        kind: 'comment',
        row: story.row,
        task: key,
        key: story.text('gid'),
        text: story.text('text') ?? '',
      },
      ...{ author: userOf(story.entry('created_by')), createdAt: story.text('created_at') },
    })
  }
  for (const part of task.entries('subtasks')) yield* itemsOf(part, state, key)
}

function taskOf(task: Entry, parent: string | undefined): TaskItem {
  const [membership, ...others] = task.entries('memberships')
  const section = membership?.entry('section')?.text('name')
  const tags = task.entries('tags').flatMap((tag) => tag.text('name') ?? [])
  return {
    ...{ kind: 'task', row: task.row, key: task.required('gid'), title: task.required('name') },
    description: task.text('notes'),
    list: section && !/^(\(no section\)|untitled section)$/i.test(section) ? section : undefined,
    status: task.isTrue('completed') ? 'DONE' : undefined,
    dueDate: task.text('due_at') ?? task.text('due_on'),
    createdAt: task.text('created_at'),
    author: userOf(task.entry('created_by')),
    assignee: userOf(task.entry('assignee')),
    labels: task.text('resource_subtype') === 'milestone' ? [...tags, 'milestone'] : tags,
    parent,
    blockedBy: task.entries('dependencies').map((blocker) => blocker.required('gid')),
    notes: [
      ...note('Completed', task.text('completed_at')),
      ...note('Start', task.text('start_at') ?? task.text('start_on')),
      ...note('Approval', task.text('approval_status')),
      ...note('Actual time in minutes', task.number('actual_time_minutes')),
      ...others.flatMap((other) => namesNote('Also in', placeOf(other))),
      ...task.entries('attachments').flatMap((one) => note('Attachment', one.text('name'))),
    ],
  }
}

const placeOf = (membership: Entry) =>
  ['project', 'section'].flatMap((key) => personOf([membership.entry(key)?.text('name')]) ?? [])

const userOf = (user: Entry | undefined): ImportedPerson | undefined =>
  personOf([user?.text('name')], user?.text('email'))

const types: Record<string, FieldItem['type']> = { number: 'number', date: 'date', enum: 'choice' }

type Field = Pick<FieldItem, 'key' | 'name' | 'type'>
const maxName = 100

/** The custom fields of a file. Each task repeats the definition of its fields. */
class AsanaFields {
  private readonly keys = new FieldKeys()
  private readonly fields = new KeyMap<Field>()

  /** Returns the values of the task. `items` has the fields that no earlier task had. */
  of(task: Entry) {
    const items: FieldItem[] = []
    const fields: Record<string, string | number> = {}
    const notes: string[] = []
    const messages: string[] = []
    for (const entry of task.entries('custom_fields')) {
      const name = entry.text('name')
      const value = valueOf(entry)
      if (name === undefined || value === undefined) continue
      const field = this.fields.get(name) ?? this.add(name, entry, items)
      if (!field) notes.push(`${name}: ${value}`)
      else {
        fields[field.key] = value
        messages.push(...lostTime(field, value))
      }
    }
    return { items, fields, notes, messages }
  }

  private add(name: string, entry: Entry, items: FieldItem[]): Field | undefined {
    if (this.fields.size === maxNames) return undefined
    const options = entry.entries('enum_options').flatMap((option) => option.text('name') ?? [])
    const type = types[typeOf(entry)] ?? 'text'
    const item: FieldItem = itemOf({
      ...{ kind: 'field', row: entry.row, key: this.keys.keyFor(name), name },
      ...(type === 'choice' && options.length === 0 ? { type: 'text' } : { type, options }),
    })
    items.push(item)
    const field = { key: item.key, name: cut(name, maxName), type: item.type }
    this.fields.set(name, field)
    return field
  }
}

const typeOf = (entry: Entry): string => entry.text('resource_subtype') ?? entry.text('type') ?? ''

function valueOf(entry: Entry): string | number | undefined {
  const type = typeOf(entry)
  if (type === 'number') return entry.number('number_value')
  if (type === 'enum') return entry.entry('enum_value')?.text('name')
  if (type === 'date') {
    const date = entry.entry('date_value')
    return date?.text('date_time') ?? date?.text('date')
  }
  return entry.text('text_value') ?? entry.text('display_value')
}
