import { readDocket } from '../../../modules/imports/readers/docket.ts'
import { reading } from './reading.ts'

const id = (n: number) => `019a2b3c-4d5e-7f60-8a9b-00000000000${n}`
const createdAt = '2027-01-31T17:00:00.000Z'
const project = { id: id(0), name: 'Engine', description: 'All wheels' }
const head = { docket: 1, project, version: 9, exportedAt: createdAt }
const task = { kind: 'task', id: id(1), title: 'Draw', status: 'DONE', labels: ['bug'] }
const comment = { kind: 'comment', id: id(4), text: 'In ink', taskId: id(1), createdAt }
const subtask = { kind: 'subtask', id: id(3), title: 'Sharpen', completed: true, taskId: id(1), createdAt }
const rows = [task, subtask, comment]
const fileOf = (lines: object[]) => [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('')
const whole = (lines: object[]) => fileOf([...lines, { kind: 'end', lines: lines.length + 2 }])

test('prefers the imported author of a row to its author', async () => {
  const remark = { ...comment, author: { id: id(9), name: 'Ada' }, importedAuthor: 'Charles' }
  const { items } = await reading(readDocket, whole([task, remark]))
  expect(items.at(-1)).toMatchObject({ kind: 'comment', author: { name: 'Charles' } })
})

test('names at most 20 unknown kinds of lines in the report', async () => {
  const others = Array.from({ length: 1_000 }, (_, n) => ({ kind: `kind ${n}` }))
  const { messages } = await reading(readDocket, whole(others), { partBytes: 4_096 })
  expect(messages).toEqual([expect.stringMatching(/not imported: kind 0 \(1\), .*, others \(980\)$/)])
  expect(messages[0]!.split(', ')).toHaveLength(21)
})

const orders: [name: string, numbers: (number | undefined)[], expected: [number?, string?][]][] = [
  ['the numbers as they are', [3, 5, 9], [[3], [5], [9]]],
  ['one task that was moved to the front', [9, 3, 5, 7], [[9, ''], [3], [5], [7]]],
  ['one task that was moved to the end', [3, 5, 7, 1], [[3], [5], [7], [1, '7']]],
  ['the fewest tasks that were moved', [4, 1, 5, 2, 3], [[4, ''], [1], [5, '1'], [2], [3]]],
  ['no numbers if one occurs twice', [1, 2, 2], [[], [], []]],
  ['no numbers if one is missing', [1, undefined], [[], []]],
  ['no numbers if one is no number', [1, 1.5], [[], []]],
]
for (const [name, numbers, expected] of orders)
  test(`reads ${name}`, async () => {
    const tasks = numbers.map((number) => ({ kind: 'task', id: String(number), title: 'T', number }))
    const { items } = await reading(readDocket, whole(tasks))
    const read = items.flatMap((item) => (item.kind === 'task' ? [[item.number, item.after]] : []))
    expect(read.map((one) => one.filter((part) => part !== undefined)) as unknown[]).toEqual(expected)
  })

const failures: [name: string, file: string | Uint8Array, message: string][] = [
  ['an empty file', '', 'The file is empty'],
  ['another file', '{"id":1}\n', 'The file is not an export of Docket with format=docket (line 1)'],
  [
    ...(['a later format', whole([]).replace('"docket":1', '"docket":2')] as const),
    'The file has the version 2 of the format; this service reads version 1 (line 1)',
  ],
  ['a cut file', fileOf(rows), `The file was cut: its last line is missing (line 4)`],
  [
    ...(['a file without a line', whole(rows).replace(/\{"kind":"subtask.*\n/, '')] as const),
    'The file was cut: its last line is missing (line 4)',
  ],
  ['a cut line', fileOf(rows).slice(0, -9), 'The line is not a JSON object (line 4)'],
  ['two files in one', whole([]) + whole([]), 'The file continues after its end (line 3)'],
  ['a status', whole([{ ...task, status: 'LATER' }]), 'The field status of the task is not valid (line 2)'],
  ['a text', whole([{ ...comment, text: 5 }]), 'The field text of the comment is not valid (line 2)'],
  ['other bytes', Buffer.of(123, 255), 'The file is not UTF-8 text. Save it again in UTF-8 (line 1)'],
  [
    ...(['a long line', whole([{ ...task, title: 'x'.repeat(1_100_000) }])] as const),
    'A line must have at most 1048576 characters (line 2)',
  ],
  [
    ...(['deep JSON', `${JSON.stringify(head)}\n${'['.repeat(1_000_000)}\n`] as const),
    'The line is not a JSON object (line 2)',
  ],
]
test.each(failures)('rejects %s with its line', async (_, file, message) => {
  await expect(reading(readDocket, file, { partBytes: 4_096 })).rejects.toThrow(message)
})
