import type { CommentItem, ImportedPerson } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'

/** Labels of the REST API may be names only. */
export function labelsOf(issue: Entry): Entry[] {
  const labels = issue.value.labels
  if (!Array.isArray(labels) || !labels.some((label) => typeof label === 'string'))
    return issue.entries('labels')
  return issue.texts('labels').map((name) => issue.with('labels', { name }))
}

export function personOf(user: Entry | undefined): ImportedPerson | undefined {
  const name = user?.text('login')
  return name === undefined ? undefined : { name }
}

export function commentOf(comment: Entry, task: string): CommentItem {
  return itemOf({
    ...{ kind: 'comment', row: comment.row, task, key: comment.text('id'), text: comment.text('body') ?? '' },
    author: personOf(comment.entry('user') ?? comment.entry('author')),
    createdAt: comment.text('created_at') ?? comment.text('createdAt'),
  })
}

export function issueKeyOf(issue: Entry): string {
  const url = ['html_url', 'url'].find((key) => issue.has(key))
  return url ? keyOf(issue, url) : `#${issue.required('number')}`
}

/** The regular expression takes quadratic time. */
const maxAddressCharacters = 500

/** Returns `owner/repository#number` for the address of an issue. */
export function keyOf(entry: Entry, key: string): string {
  const address = entry.required(key).slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${entry.text('number') ?? ''}`
}
