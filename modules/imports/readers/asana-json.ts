import type { FieldItem } from '../items.ts'
import { type Board, type FieldValue, nameOf } from './boards/board.ts'
import { boardReader } from './boards/board-reader.ts'
import type { Entry } from './json/entry.ts'

const types: Record<string, FieldItem['type']> = { number: 'number', date: 'date', enum: 'choice' }

/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson = boardReader({
  missing: 'The file has no tasks: expected the JSON export of an Asana project',
  omit: ['followers', 'hearts', 'likes', 'workspace', 'photo', 'html_notes'],
  cards: {
    at: ['data.*', '*'],
    // A page of the API also contains the address of the next page. Tasks name their section, which is in the list too.
    is: (row) =>
      (row.part !== '*' || row.get('gid') !== undefined) &&
      (row.text('resource_type') ?? 'task') === 'task' &&
      row.text('resource_subtype') !== 'section',
    ...{ description: 'notes', status: 'completed', dueDate: 'due_at|due_on', createdAt: 'created_at' },
    ...{ author: 'created_by', people: 'assignee', labels: 'tags', parent: 'parent.gid', parts: 'subtasks' },
    listName(task) {
      const section = task.entries('memberships')[0]?.text('section.name')
      return section && !/^(\(no section\)|untitled section)$/i.test(section) ? section : undefined
    },
    label: (task) => (task.text('resource_subtype') === 'milestone' ? 'milestone' : undefined),
    values: (task, board) => task.entries('custom_fields').flatMap((field) => valueOf(field, board)),
    blockedBy: (task) => task.entries('dependencies').map((blocker) => blocker.required('gid')),
    notes: {
      ...{ Completed: 'completed_at', Start: 'start_at|start_on', Approval: 'approval_status' },
      'Actual time in minutes': 'actual_time_minutes',
      'Also in': (task) =>
        task
          .entries('memberships')
          .slice(1)
          .map((one) => [one.text('project.name'), one.text('section.name')].filter(Boolean).join(', ')),
      Attachment: (task) => task.entries('attachments').map(nameOf),
    },
  },
  comments: {
    in: (task) =>
      [...task.entries('stories'), ...task.entries('comments')].filter(
        (story) => (story.text('type') ?? 'comment') === 'comment',
      ),
    ...{ text: 'text', author: 'created_by', createdAt: 'created_at' },
  },
})

/** The path of the value, by the type of the field. */
const paths: Record<string, string> = {
  number: 'number_value',
  enum: 'enum_value.name',
  date: 'date_value.date_time|date_value.date',
}

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
