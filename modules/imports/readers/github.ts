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
  cards: {
    at,
    is: isIssue,
    key: (issue) =>
      issue.get('html_url|url') === undefined ? `#${issue.required('number')}` : keyOf(issue, 'html_url|url'),
    ...{ description: 'body', createdAt: 'created_at|createdAt', author: 'user|author' },
    ...{ people: 'assignees', labels: 'labels' },
    status: (issue) => (issue.text('state')?.toLowerCase() === 'closed' ? 'DONE' : 'TODO'),
    label: (issue) => (issue.get('pull_request') === undefined ? undefined : 'pull request'),
    values(issue, board) {
      const milestone = issue.text('milestone.title')
      if (milestone !== undefined) board.defineField('milestone', issue.row, 'milestone', {})
      return [['milestone', milestone]]
    },
    notes: {
      Closed: 'closed_at|closedAt',
      Reason(issue) {
        const reason = issue.text('state_reason|stateReason')
        return reason && !/^(completed|reopened)$/i.test(reason) && reason
      },
      'Milestone due': 'milestone.due_on|milestone.dueOn',
      Type: (issue) => typeof issue.get('type') === 'object' && issue.text('type.name'),
      'Part of': (issue) => issue.get('parent_issue_url') !== undefined && keyOf(issue, 'parent_issue_url'),
    },
    /** In lists of the REST API, `comments` is the number of comments. */
    comments: (issue) => (hasComments(issue) ? undefined : issue.number('comments')),
  },
  comments: {
    at,
    in: (issue) => (hasComments(issue) ? issue.entries('comments') : []),
    task: (row) => (row.get('issue_url') === undefined ? undefined : keyOf(row, 'issue_url')),
    ...{ text: 'body', author: 'user|author', createdAt: 'created_at|createdAt' },
  },
})

const hasComments = (issue: Entry): boolean => typeof issue.get('comments') === 'object'

function isIssue(row: Entry): boolean {
  if (row.get('issue_url') !== undefined) return false
  if (row.get('number') !== undefined && row.get('title') !== undefined) return true
  throw new ImportError(
    'The file is not a list of issues of GitHub: an issue has a number and a title',
    `row ${row.row}`,
  )
}

/** The regular expression takes quadratic time. */
const maxAddressCharacters = 500

/** Returns `owner/repository#number` for the address of an issue. */
function keyOf(row: Entry, paths: string): string {
  const address = (row.text(paths) ?? '').slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${row.text('number') ?? ''}`
}
