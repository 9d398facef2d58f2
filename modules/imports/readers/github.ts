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
  rows: { cards: at, comments: at },
  isCard(row) {
    if (row.get('issue_url') !== undefined) return false
    if (row.get('number') !== undefined && row.get('title') !== undefined) return true
    const message = 'The file is not a list of issues of GitHub: an issue has a number and a title'
    throw new ImportError(message, `row ${row.row}`)
  },
  card(issue, board) {
    const milestone = issue.text('milestone.title')
    if (milestone !== undefined) board.defineField('milestone', issue.row, { name: 'milestone' })
    const reason = issue.text('state_reason|stateReason') ?? ''
    const isPullRequest = issue.get('pull_request') !== undefined
    return {
      key: keyOf(issue, 'html_url|url'),
      status: issue.text('state')?.toLowerCase() === 'closed' ? 'DONE' : 'TODO',
      labels: [isPullRequest ? 'pull request' : undefined],
      values: [['milestone', milestone]],
      notes: {
        Archived: undefined,
        Reason: /^(completed|reopened)$/i.test(reason) ? undefined : reason,
        'Milestone due': issue.get('milestone.due_on|milestone.dueOn'),
        Type: typeof issue.get('type') === 'object' ? issue.get('type.name') : undefined,
        'Part of': issue.get('parent_issue_url') === undefined ? undefined : keyOf(issue, 'parent_issue_url'),
      },
    }
  },
  commented: (row) => (row.get('issue_url') === undefined ? undefined : keyOf(row, 'issue_url')),
})

/** Bounds the time of a regular expression, which grows with the square of the length. */
const maxAddressCharacters = 500

/** Returns `owner/repository#number` for the address of an issue. */
function keyOf(row: Entry, paths: string): string {
  const address = (row.text(paths) ?? '').slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${row.text('number') ?? ''}`
}
