import { openTexts } from './search-text.ts'
import { numbers } from './seed.ts'

const tasks = 100_000
export const importSizes = { tasks, rows: 2 * tasks }
const words = { title: 6, description: 12, comment: 10 }

/** A CSV file as Jira writes it. */
export function importFile(): Buffer<ArrayBuffer> {
  const { text } = openTexts()
  const some = (count: number) => text(count).join(' ')
  const lines = numbers(tasks).map((n) =>
    [
      ...[
        some(words.title),
        `ENG-${n}`,
        ['To Do', 'In Progress', 'Done'][n % 3],
        ['Low', 'Medium', 'High'][n % 3],
      ],
      ...[
        some(words.description),
        '01/Feb/24 10:15 AM',
        `bug${n % 50}`,
        `02/Feb/24 11:00 AM;ada;${some(words.comment)}`,
      ],
    ].join(','),
  )
  const header = 'Summary,Issue key,Status,Priority,Description,Created,Labels,Comment'
  return Buffer.from([header, ...lines].join('\n'))
}
