import type { FieldItem } from '../items.ts'
import { type Board, doneIf, type FieldValue, nameOf } from './boards/board.ts'
import { boardReader } from './boards/board-reader.ts'
import type { Entry } from './json/entry.ts'

const types: Record<string, FieldItem['type']> = { number: 'number', date: 'date', enum: 'choice' }
/** The path of the value, by the type of the field. */
const paths: Record<string, string> = {
  number: 'number_value',
  enum: 'enum_value.name',
  date: 'date_value.date_time|date_value.date',
}

/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson = boardReader({
  missing: 'The file has no tasks: expected the JSON export of an Asana project',
  omit: ['followers', 'hearts', 'likes', 'workspace', 'photo', 'html_notes'],
  rows: { cards: ['data.*', '*'] },
  card(task, board) {
    // A page of the API also contains the address of the next page.
    if (task.part === '*' && task.get('gid') === undefined) return undefined
    const type = task.text('resource_subtype')
    // Tasks name their section, which is in the list too.
    if ((task.text('resource_type') ?? 'task') !== 'task' || type === 'section') return undefined
    const [membership, ...others] = task.entries('memberships')
    const section = membership?.text('section.name') ?? ''
    return {
      description: task.text('notes'),
      list: /^(\(no section\)|untitled section|)$/i.test(section) ? undefined : section,
      status: doneIf(task.isSet('completed')),
      ...{ dueDate: task.text('due_at|due_on'), createdAt: task.text('created_at') },
      ...{ author: board.person(task, 'created_by'), people: board.people(task, 'assignee') },
      labels: [...board.labelNames(task, 'tags'), type === 'milestone' ? type : undefined],
      values: task.entries('custom_fields').flatMap((field) => valueOf(field, board)),
      parent: task.text('parent.gid'),
      blockedBy: task.entries('dependencies').map((blocker) => blocker.required('gid')),
      notes: {
        Completed: task.get('completed_at'),
        Start: task.get('start_at|start_on'),
        Approval: task.get('approval_status'),
        'Actual time in minutes': task.get('actual_time_minutes'),
        'Also in': others.map((one) =>
          [one.text('project.name'), one.text('section.name')].filter(Boolean).join(', '),
        ),
        Attachment: task.entries('attachments').map(nameOf),
      },
      comments: [...task.entries('stories'), ...task.entries('comments')].filter(
        (story) => (story.text('type') ?? 'comment') === 'comment',
      ),
      parts: task.entries('subtasks'),
    }
  },
  comment: (story, board) => ({
    ...{ text: story.text('text'), createdAt: story.text('created_at') },
    author: board.person(story, 'created_by'),
  }),
})

/** Each task repeats the definitions of its fields. */
function valueOf(field: Entry, board: Board): FieldValue[] {
  const name = field.text('name')
  const type = field.text('resource_subtype|type') ?? ''
  const value = field.get(paths[type] ?? 'text_value|display_value')
  if (name === undefined || value === undefined) return []
  const options = field.entries('enum_options').map((one) => one.text('name') ?? '')
  board.defineField(name, field.row, name, { type: types[type], options: options.map((one) => [one, one]) })
  return [[name, value]]
}
