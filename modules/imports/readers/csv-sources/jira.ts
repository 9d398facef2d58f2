import { shortKey } from '../../convert/keys.ts'
import { maxMappedCharacters } from '../../convert/names-in-file.ts'
import { ImportError } from '../../items.ts'
import { valueFor } from '../../mapping.ts'
import { csvReader } from '../csv/csv-reader.ts'
import type { Draft } from '../csv/drafts.ts'
import type { Row } from '../csv/row.ts'
import type { SourceContext, SourceRows } from '../csv/source.ts'
import { maxLinks } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'
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
  /** The keys of issues by their ids. */
  private readonly keys = new KeyMap<string>()
  private readonly blockers = new KeyMap<string[]>()
  private links = 0
  private readonly statuses = new Map<string, JiraStatus>()

  constructor(private readonly context: SourceContext) {}

  scan(row: Row): void {
    const key = shortKey(row.text('issue key'))
    if (row.has('issue id')) this.keys.set(row.text('issue id'), key)
    for (const blocked of row.texts(outward)) this.addLink(key, blocked)
    const [name, status] = [row.text('status'), jiraStatus(row.text('status category'))]
    if (status && name.length <= maxMappedCharacters && this.statuses.size < maxStatuses)
      this.statuses.set(name, status)
  }

  private addLink(key: string, blocked: string): void {
    if (++this.links > maxLinks)
      throw new ImportError(`The file has more than ${maxLinks.toLocaleString('en')} links between issues`)
    const blockers = this.blockers.get(blocked)
    if (blockers) blockers.push(key)
    else this.blockers.set(blocked, [key])
  }

  proposal() {
    return { statuses: Object.fromEntries(this.statuses) }
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    const { mapping, dates } = this.context
    const isGiven = valueFor(mapping.statuses, task.list ?? '') != null
    const status = isGiven ? undefined : this.statuses.get(task.list ?? '')
    if (status) task.status = status
    const inward = task.blockedBy ?? []
    const blockedBy = [...new Set([...inward, ...(this.blockers.get(task.key) ?? [])])]
    if (blockedBy.length > 0) task.blockedBy = blockedBy
    if (task.parent) this.finishParent(draft, row)
    draft.comments = draft.comments.map((comment) => jiraComment(comment, draft, dates))
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
