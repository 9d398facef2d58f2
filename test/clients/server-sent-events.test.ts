import fc from 'fast-check'
import { type Message, readMessages } from '../../clients/typescript/src/feed/stream.ts'

const text =
  'retry: 1700\nid: 41\n\n: nothing new\n\n' +
  'id: 42\r\nevent: task.created\r\ndata: {"title":"Größe 🧭"}\r\n\r\n' +
  'event:end\ndata:one\ndata: two: three\ndata\n\nevent: cut off'
const messages: Message[] = [
  { event: 'message', data: '', id: '41' },
  { event: 'message', data: '' },
  { event: 'task.created', data: '{"title":"Größe 🧭"}', id: '42' },
  { event: 'end', data: 'one\ntwo: three\n' },
]

async function read(sizes: number[]): Promise<Message[]> {
  let rest = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = sizes.shift() ?? rest.length
      controller.enqueue(rest.slice(0, size))
      rest = rest.slice(size)
      if (rest.length === 0) controller.close()
    },
  })
  return Array.fromAsync(readMessages(body))
}

test('reads the same messages however the bytes arrive', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 200 })
  await fc.assert(fc.asyncProperty(sizes, async (each) => expect(await read(each)).toEqual(messages)))
  expect(await read(Array(text.length).fill(1))).toEqual(messages)
})

test('cancels the stream when the reader stops early', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('id: 1\n\nid: 2\n\n')),
    cancel: () => void (isCancelled = true),
  })
  for await (const { id } of readMessages(body)) if (id === '1') break
  expect(isCancelled).toBe(true)
})
