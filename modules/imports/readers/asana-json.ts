import type { Board, FieldValue } from './boards/board.ts'
import { boardReader } from './boards/board-reader.ts'
import type { Entry } from './json/entry.ts'

/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson = boardReader({
  missing: 'The file has no tasks: expected the JSON export of an Asana project',
  omit: ['followers', 'hearts', 'likes', 'workspace', 'photo', 'html_notes'],
  rows: { cards: ['data.*', '*'] },
  isCard(row) {
    // A page of the API also contains the address of the next page.
    if (row.part === '*' && row.get('gid') === undefined) return false
    // Tasks name their section, which is in the list too.
    return (row.text('resource_type') ?? 'task') === 'task' && row.text('resource_subtype') !== 'section'
  },
  card(task, board) {
    const type = task.text('resource_subtype')
    const [membership, ...others] = task.entries('memberships')
    const section = membership?.text('section.name') ?? ''
    return {
      list: /^(\(no section\)|untitled section|)$/i.test(section) ? undefined : section,
      labels: [type === 'milestone' ? type : undefined],
      values: task.entries('custom_fields').flatMap((field) => valueOf(field, board)),
      parent: task.text('parent.gid'),
      blockedBy: task.entries('dependencies').map((blocker) => blocker.required('gid')),
      notes: {
        'Also in': others.map((one) =>
          [one.text('project.name'), one.text('section.name')].filter(Boolean).join(', '),
        ),
      },
      parts: task.entries('subtasks'),
    }
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
  board.defineField(name, field.row, { name, type, options: options.map((one) => [one, one]) })
  return [[name, value]]
}
