import { csvReader } from '../csv/csv-reader.ts'
import type { Draft } from '../csv/drafts.ts'
import type { Row } from '../csv/row.ts'
import type { SourceContext, SourceRows } from '../csv/source.ts'
import { jiraColumns } from './jira-columns.ts'
import { jiraComment } from './jira-comment.ts'
import { isJiraSubtask, jiraName, type JiraStatus, jiraStatus } from './jira-languages.ts'

const maxStatuses = 1_000
const outward = 'outward issue link blocks'

/** Reads the CSV export of a Jira search. A parent is given by its issue id. Either issue of a link may list it. */
export const readJira = csvReader({
  columns: jiraColumns,
  translate: jiraName,
  reads: ['issue id', 'status category', outward],
  read: (context) => new JiraRows(context),
})

class JiraRows implements SourceRows {
  private readonly keys = new Map<string, string>()
  private readonly blockers = new Map<string, string[]>()
  private readonly statuses = new Map<string, JiraStatus>()

  constructor(private readonly context: SourceContext) {}

  scan(row: Row): void {
    const key = row.text('issue key')
    if (row.has('issue id')) this.keys.set(row.text('issue id'), key)
    for (const blocked of row.texts(outward)) {
      const blockers = this.blockers.get(blocked)
      if (blockers) blockers.push(key)
      else this.blockers.set(blocked, [key])
    }
    const status = jiraStatus(row.text('status category'))
    if (status && this.statuses.size < maxStatuses) this.statuses.set(row.text('status'), status)
  }

  proposal() {
    return { statuses: Object.fromEntries(this.statuses) }
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    const { mapping, dates } = this.context
    const { statuses = {} } = mapping
    const isGiven = Object.hasOwn(statuses, task.list ?? '') && statuses[task.list!] !== null
    const status = isGiven ? undefined : this.statuses.get(task.list ?? '')
    if (status) task.status = status
    const inward = task.blockedBy ?? []
    const blockedBy = [...new Set([...inward, ...(this.blockers.get(task.key) ?? [])])]
    if (blockedBy.length > 0) task.blockedBy = blockedBy
    if (task.parent) this.finishParent(draft, row)
    draft.comments = draft.comments.map((comment) => jiraComment(comment, dates))
  }

  /** Only sub-tasks become sub-items of their parent. For other issues, the parent is the field `epic`. */
  private finishParent({ task }: Draft, row: Row): void {
    const parent = row.text('parent key') || (this.keys.get(task.parent!) ?? task.parent!)
    task.parent = parent
    const type = row.text('issue type')
    if (type === '' || isJiraSubtask(type)) return
    delete task.parent
    task.fields = { ...task.fields, epic: parent }
  }
}
