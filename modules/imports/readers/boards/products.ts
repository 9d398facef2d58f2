import type { Entry } from '../json-file.ts'
import type { Board, FieldValue } from './board.ts'
import { boardReader, issueKey, linkedIssue } from './cards.ts'
import products from './products.json' with { type: 'json' }

/** Reads the JSON export of a Trello board. Trello writes only the newest 1,000 actions, of which some are comments. */
export const readTrello = boardReader(products.trello)
export const readWekan = boardReader(products.wekan)
/** Reads responses of Planka's API one after the other: boards, cards of a list, comments and actions of a card. */
export const readPlanka = boardReader(products.planka)
/** Reads the output of `occ deck:export`, the export of a board, or a response of the API of Nextcloud Deck. */
export const readDeck = boardReader(products.deck)

/**
 * Reads issues and comments of GitHub: lists of the REST API one after the other, a JSON object for each line, or the
 * output of `gh issue list --json`.
 */
export const readGitHub = boardReader({
  missing: 'The file has no issues: expected a list of issues of GitHub',
  // An issue, a list of issues, or a list of such lists.
  parts: { '': 'issueOrComment', '*': 'issueOrComment', '*.*': 'issueOrComment' },
  card(issue, board) {
    const milestone = issue.text('milestone.title')
    if (milestone !== undefined) board.defineField('milestone', issue.row, 'milestone')
    const reason = issue.text('state_reason|stateReason') ?? ''
    return {
      key: issueKey(issue, 'html_url|url'),
      status: issue.text('state')?.toLowerCase() === 'closed' ? 'DONE' : 'TODO',
      labels: [issue.get('pull_request') === undefined ? undefined : 'pull request'],
      values: [['milestone', milestone]],
      notes: {
        Archived: undefined,
        Reason: /^(completed|reopened)$/i.test(reason) ? undefined : reason,
        'Milestone due': issue.get('milestone.due_on|milestone.dueOn'),
        Type: typeof issue.get('type') === 'object' ? issue.get('type.name') : undefined,
        'Part of': linkedIssue(issue, 'parent_issue_url'),
      },
    }
  },
})

/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson = boardReader({
  missing: 'The file has no tasks: expected the JSON export of an Asana project',
  ...{ parts: { 'data.*': 'card', '*': 'card' }, cardsInside: 'subtasks' },
  card(task, board, parent) {
    const type = task.text('resource_subtype')
    // Tasks name their section, which is in the list too. Old projects have sections among subtasks, which are subtasks.
    const isOther = (task.text('resource_type') ?? 'task') !== 'task' || type === 'section'
    if (isOther && parent === undefined) return undefined
    const [membership, ...others] = task.entries('memberships')
    const section = membership?.text('section.name') ?? ''
    return {
      list: /^(\(no section\)|untitled section|)$/i.test(section) ? undefined : section,
      labels: [type === 'milestone' ? type : undefined],
      values: task.entries('custom_fields').flatMap((field) => customValue(field, board)),
      parent: task.text('parent.gid'),
      blockedBy: task.entries('dependencies').map((blocker) => blocker.required('gid')),
      notes: {
        'Also in': others.map((one) =>
          [one.text('project.name'), one.text('section.name')].filter(Boolean).join(', '),
        ),
      },
    }
  },
})

const values = 'number_value|enum_value.name|date_value.date_time|date_value.date|text_value|display_value'

/** Each task repeats the definitions of its fields. */
function customValue(field: Entry, board: Board): FieldValue[] {
  const name = field.text('name')
  const value = field.get(values)
  if (name === undefined || value === undefined) return []
  const names = field.entries('enum_options').map((one) => one.text('name') ?? '')
  const options = names.map((one): [string, string] => [one, one])
  board.defineField(name, field.row, name, field.text('resource_subtype|type'), options)
  return [[name, value]]
}
