import { expect, setDefaultTimeout, test } from 'bun:test'
import { openClientScene } from './scene.ts'

setDefaultTimeout(60_000)

const { docket, open, send } = await openClientScene()

/** Responses of a proxy that buffers a stream. */
const answers: [name: string, answer: () => Promise<Response>][] = [
  ['never answers', () => new Promise<Response>(() => {})],
  [
    'holds back the bytes',
    async () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
  ],
]

test.each(answers)('follow uses long polls if a proxy %s', async (_, answer) => {
  const { id: projectId } = await docket.projects.create({ name: 'Engine' })
  const silent = open({
    fetch: (url, init) =>
      new Headers(init?.headers).get('accept') === 'text/event-stream' ? answer() : send(url, init),
  })
  const seqs: number[] = []
  for await (const { seq } of silent.project(projectId).follow({ after: 0 })) {
    if (seqs.push(seq) === 4) break
    await docket.tasks.create({ projectId, title: 'Draw' })
  }
  expect(seqs).toEqual([1, 2, 3, 4])
})
