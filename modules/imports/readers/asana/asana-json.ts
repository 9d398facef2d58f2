import { ImportError, type ImportedItem, type TaskItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { JsonFile } from '../json/json-file.ts'
import { maxLinks } from '../json/limits.ts'
import { AsanaFields } from './fields.ts'
import { commentOf, taskOf } from './task.ts'

const omit = ['followers', 'hearts', 'likes', 'workspace', 'photo', 'html_notes']

/** What the tasks of a file have in common. */
interface Known {
  fields: AsanaFields
  /** A part of a task may be in the file twice: by itself, and within the task. */
  keys: Set<string>
}

/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson: Reader = async function* ({ open }) {
  const known: Known = { fields: new AsanaFields(), keys: new Set() }
  let isEmpty = true
  for await (const task of new JsonFile(open).read(['data.*', '*'], { omit, documents: 'many' })) {
    // The address of the next page is beside the tasks of a page.
    if (task.part === '*' && !task.has('gid')) continue
    isEmpty = false
    yield* itemsOf(task, known)
  }
  if (isEmpty) throw new ImportError('The file has no tasks: expected the JSON export of an Asana project')
}

function* itemsOf(task: Entry, known: Known, parent?: string): Generator<ImportedItem> {
  const key = task.required('gid')
  // A section is the list of its tasks.
  if (task.text('resource_subtype') === 'section' || known.keys.has(key)) return
  if (known.keys.size < maxLinks) known.keys.add(key)
  const { items, fields, notes, messages } = known.fields.of(task)
  yield* items
  const item = taskOf(task, parent ?? task.entry('parent')?.text('gid'))
  yield itemOf<TaskItem>({ ...item, fields, notes: [...(item.notes ?? []), ...notes], messages })
  for (const story of [...task.entries('stories'), ...task.entries('comments')]) yield* commentOf(story, key)
  for (const part of task.entries('subtasks')) yield* itemsOf(part, known, key)
}
