import { ImportError, type ImportedItem, type ImportedPerson, type TaskItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { assigneesOf, itemOf, namesNote, note } from '../json/items.ts'
import { JsonFile } from '../json/json-file.ts'
import { maxLinks } from '../json/limits.ts'
import { AsanaFields } from './asana-fields.ts'

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
  let row = 0
  for await (const task of new JsonFile(open).read(['data.*', '*'], { omit, documents: 'many' })) {
    // The address of the next page is beside the tasks of a page.
    if (task.part === '*' && !task.has('gid')) continue
    row += 1
    yield* itemsOf(task, row, known)
  }
  if (row === 0) throw new ImportError('The file has no tasks: expected the JSON export of an Asana project')
}

function* itemsOf(task: Entry, row: number, known: Known, parent?: string): Generator<ImportedItem> {
  const key = task.required('gid')
  // A section is the list of its tasks.
  if (task.text('resource_subtype') === 'section' || known.keys.has(key)) return
  if (known.keys.size < maxLinks) known.keys.add(key)
  const { items, fields, notes, messages } = known.fields.of(task, row)
  yield* items
  const item = taskOf(task, row, parent ?? task.entry('parent')?.text('gid'))
  yield itemOf<TaskItem>({ ...item, fields, notes: [...(item.notes ?? []), ...notes], messages })
  for (const story of [...task.entries('stories'), ...task.entries('comments')])
    yield* commentOf(story, row, key)
  for (const part of task.entries('subtasks')) yield* itemsOf(part, row, known, key)
}

function taskOf(task: Entry, row: number, parent: string | undefined): TaskItem {
  const [membership, ...others] = task.entries('memberships')
  const section = membership?.entry('section')?.text('name')
  const kind = task.text('resource_subtype')
  const tags = task.entries('tags').flatMap((tag) => tag.text('name') ?? [])
  const { assignee } = assigneesOf(personOf(task.entry('assignee')))
  return {
    ...{ kind: 'task', row, key: task.required('gid'), title: task.required('name') },
    description: task.text('notes'),
    list: section && !/^(\(no section\)|untitled section)$/i.test(section) ? section : undefined,
    status: task.isTrue('completed') ? 'DONE' : undefined,
    dueDate: task.text('due_at') ?? task.text('due_on'),
    createdAt: task.text('created_at'),
    author: personOf(task.entry('created_by'))[0],
    assignee,
    labels: kind === 'milestone' ? [...tags, 'milestone'] : tags,
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
  ['project', 'section'].flatMap((key) => {
    const name = membership.entry(key)?.text('name')
    return name ? { name } : []
  })

function personOf(user: Entry | undefined): ImportedPerson[] {
  const [name, email] = [user?.text('name') ?? user?.text('email'), user?.text('email')]
  return name ? [email ? { name, email } : { name }] : []
}

function* commentOf(story: Entry, row: number, task: string): Generator<ImportedItem> {
  if ((story.text('type') ?? 'comment') !== 'comment') return
  yield itemOf({
    ...{ kind: 'comment', row, task, key: story.text('gid'), text: story.text('text') ?? '' },
    ...{ author: personOf(story.entry('created_by'))[0], createdAt: story.text('created_at') },
  })
}
