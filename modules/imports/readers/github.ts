import { ImportError } from '../items.ts'
import { boardReader } from './boards/board-reader.ts'
import type { Entry } from './json/entry.ts'

/** An issue, a list of issues, or a list of such lists. */
const at = ['', '*', '*.*']

/**
 * Reads issues and comments of GitHub: lists of the REST API one after the other, a JSON object for each line, or the
 * output of `gh issue list --json`.
 */
export const readGitHub = boardReader({
  missing: 'The file has no issues: expected a list of issues of GitHub',
  omit: ['reactions', 'reactionGroups', 'performed_via_github_app', 'issue_field_values'],
  omitInLists: ['user', 'author', 'body', 'labels', 'assignees', 'comments'],
  rows: { cards: at, comments: at, counted: at },
  card(issue, board) {
    if (issue.get('issue_url') !== undefined) return undefined
    requireIssue(issue)
    const milestone = issue.text('milestone.title')
    if (milestone !== undefined) board.defineField('milestone', issue.row, 'milestone', {})
    const reason = issue.text('state_reason|stateReason') ?? ''
    // In lists of the REST API, `comments` is the number of comments.
    const hasComments = typeof issue.get('comments') === 'object'
    return {
      key: keyOf(issue, 'html_url|url'),
      description: issue.text('body'),
      status: issue.text('state')?.toLowerCase() === 'closed' ? 'DONE' : 'TODO',
      createdAt: issue.text('created_at|createdAt'),
      author: board.person(issue, 'user|author'),
      people: board.people(issue, 'assignees'),
      labels: [
        ...board.labelNames(issue, 'labels'),
        issue.get('pull_request') === undefined ? undefined : 'pull request',
      ],
      values: [['milestone', milestone]],
      notes: {
        Closed: issue.get('closed_at|closedAt'),
        Reason: /^(completed|reopened)$/i.test(reason) ? undefined : reason,
        'Milestone due': issue.get('milestone.due_on|milestone.dueOn'),
        Type: typeof issue.get('type') === 'object' ? issue.get('type.name') : undefined,
        'Part of': issue.get('parent_issue_url') === undefined ? undefined : keyOf(issue, 'parent_issue_url'),
      },
      comments: hasComments ? issue.entries('comments') : [],
      total: hasComments ? undefined : issue.number('comments'),
    }
  },
  comment: (row, board) => ({
    task: row.get('issue_url') === undefined ? undefined : keyOf(row, 'issue_url'),
    ...{ text: row.text('body'), createdAt: row.text('created_at|createdAt') },
    author: board.person(row, 'user|author'),
  }),
})

function requireIssue(row: Entry): void {
  if (row.get('number') === undefined || row.get('title') === undefined)
    throw new ImportError(
      'The file is not a list of issues of GitHub: an issue has a number and a title',
      `row ${row.row}`,
    )
}

/** Bounds the time of a regular expression, which grows with the square of the length. */
const maxAddressCharacters = 500

/** Returns `owner/repository#number` for the address of an issue. */
function keyOf(row: Entry, paths: string): string {
  const address = (row.text(paths) ?? '').slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${row.text('number') ?? ''}`
}
