import type { KnownColumns } from '../csv/columns/columns.ts'
import { csvReader } from '../csv/csv-reader.ts'

const unused = 'updated,uuid,project id,project milestone id,sla status,time in status minutes'

const columns: KnownColumns = {
  ...Object.fromEntries(unused.split(',').map((name) => [name, null])),
  id: 'id',
  title: 'title',
  description: 'description',
  status: 'status',
  priority: 'priority',
  creator: 'author',
  assignee: 'assignee',
  labels: 'labels',
  created: 'createdAt',
  completed: 'completed',
  canceled: 'completed',
  'due date': 'dueDate',
  'parent issue': 'parent',
  'blocked by': 'blockedBy',
}

/** Reads the CSV export of a Linear workspace or view. */
export const readLinear = csvReader({
  columns,
  priorities: { '0': undefined, '1': 'HIGH', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW' },
})
