import type { CellComment } from '../../../exports/cells.ts'
import type { KnownColumns } from '../csv/columns/columns.ts'
import { csvReader } from '../csv/csv-reader.ts'
import type { Dates } from '../csv/dates/dates.ts'
import type { Draft } from '../csv/drafts.ts'
import type { Row } from '../csv/rows.ts'
import type { SourceContext, SourceRows } from '../csv/source.ts'

const unused = `issue id,project key,project name,project type,project lead,project lead id,project description,
  project url,assignee id,reporter id,creator id,watchers id,watchers,votes,updated,last viewed,work ratio,
  status category,status category changed,parent summary,outward issue link blocks,custom field rank,
  custom field development`

const columns: KnownColumns = {
  ...Object.fromEntries(unused.split(/,\s*/).map((name) => [name, null])),
  summary: 'title',
  'issue key': 'id',
  description: 'description',
  status: 'status',
  priority: 'priority',
  assignee: 'assignee',
  reporter: 'author',
  created: 'createdAt',
  'due date': 'dueDate',
  labels: 'labels',
  comment: 'comments',
  parent: 'parent',
  'parent id': 'parent',
  'parent key': 'parent',
  'inward issue link blocks': 'blockedBy',
  attachment: 'notes',
  'log work': 'notes',
  'custom field epic link': 'field.epic',
}
const categories: Record<string, 'TODO' | 'IN_PROGRESS' | 'DONE'> = {
  'to do': 'TODO',
  'in progress': 'IN_PROGRESS',
  done: 'DONE',
}
const outward = 'outward issue link blocks'

/** Reads the CSV export of a Jira search. Parents are ids of issues; links may be at either issue. */
export const readJira = csvReader({ columns, read: (context) => new JiraRows(context) })

class JiraRows implements SourceRows {
  private readonly keys = new Map<string, string>()
  private readonly blockers = new Map<string, string[]>()
  private readonly statuses: Record<string, 'TODO' | 'IN_PROGRESS' | 'DONE'> = {}
  private readonly context: SourceContext

  constructor(context: SourceContext) {
    this.context = context
  }

  look(row: Row): void {
    const key = row.text('issue key')
    if (row.has('issue id')) this.keys.set(row.text('issue id'), key)
    for (const blocked of row.texts(outward))
      this.blockers.set(blocked, [...(this.blockers.get(blocked) ?? []), key])
    const category = categories[row.text('status category').toLowerCase()]
    if (category) this.statuses[row.text('status')] = category
  }

  proposal() {
    return { statuses: this.statuses }
  }

  finish(draft: Draft, row: Row): void {
    const { task } = draft
    const { mapping, dates } = this.context
    if (task.list && mapping.statuses?.[task.list] === undefined) task.status = this.statuses[task.list]
    const inward = task.blockedBy ?? []
    const blockedBy = [...new Set([...inward, ...(this.blockers.get(task.key ?? '') ?? [])])]
    if (blockedBy.length > 0) task.blockedBy = blockedBy
    if (task.parent) this.finishParent(draft, row)
    draft.comments = draft.comments.map((comment) => commentOf(comment, dates))
  }

  /** Only sub-tasks are parts of their parent. Other issues keep the key of their epic in a field. */
  private finishParent({ task }: Draft, row: Row): void {
    const parent = row.text('parent key') || (this.keys.get(task.parent!) ?? task.parent!)
    task.parent = parent
    const type = row.text('issue type')
    if (type === '' || /^sub[- ]?task/i.test(type)) return
    delete task.parent
    task.fields = { ...task.fields, epic: parent }
  }
}

/** Reads `14/Mar/26 2:15 PM;Ada;The text`. */
function commentOf(comment: CellComment, dates: Dates): CellComment {
  const [, date = '', author = '', text = ''] = /^([^;\n]+);([^;\n]*);([\s\S]*)$/.exec(comment.text) ?? []
  const createdAt = dates.read(date.trim())
  if (!createdAt || text.trim() === '') return comment
  return { text: text.trim(), createdAt, ...(author.trim() && { author: { name: author.trim() } }) }
}
