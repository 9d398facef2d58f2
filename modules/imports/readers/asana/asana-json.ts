import { ImportError, type ImportedItem, type TaskItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { JsonFile } from '../json/json-file.ts'
import { maxLinks } from '../json/limits.ts'
import { SubtaskOrder } from '../json/subtask-order.ts'
import { KeyMap } from '../key-map.ts'
import { AsanaFields } from './fields.ts'
import { commentOf, taskOf } from './task.ts'

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
    if (task.part === '*' && !task.has('gid')) continue
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
  for (const story of [...task.entries('stories'), ...task.entries('comments')]) yield* commentOf(story, key)
  for (const part of task.entries('subtasks')) yield* itemsOf(part, state, key)
}
