import { notImported } from '../csv/columns.ts'
import { csvReader } from '../csv/csv-reader.ts'

/** Reads the CSV export of a Linear workspace or view. */
export const readLinear = csvReader({
  columns: {
    ...notImported('updated,uuid,project id,project milestone id,sla status,time in status minutes'),
    ...{ id: 'id', title: 'title', description: 'description', status: 'status', priority: 'priority' },
    ...{
      creator: 'author',
      assignee: 'assignee',
      labels: 'labels',
      created: 'createdAt',
      'due date': 'dueDate',
    },
    ...{ completed: 'completed', canceled: 'completed', 'parent issue': 'parent', 'blocked by': 'blockedBy' },
  },
  priorities: { '0': undefined, '1': 'HIGH', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW' },
})
