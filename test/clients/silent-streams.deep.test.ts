import { openClientScene } from './scene.ts'

const { open, send, docket, newProject } = await openClientScene()

/** Responses of a proxy that buffers streams. The client waits for 5 s. */
test.each<[what: string, answer: () => Promise<Response>]>([
  ['never answers', () => new Promise<Response>(() => {})],
  [
    'holds back the bytes',
    async () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
  ],
])('follow uses long polls if a proxy %s', async (_, answer) => {
  const { id: projectId } = await newProject(1)
  const silent = open({
    fetch: (url, init) =>
      new Headers(init.headers).get('accept') === 'text/event-stream' ? answer() : send(url, init),
  })
  const seqs: number[] = []
  for await (const { seq } of silent.project(projectId).follow({ after: 0 })) {
    if (seqs.push(seq) === 4) break
    await docket.tasks.create({ projectId, title: `T${seq}` })
  }
  expect(seqs).toEqual([1, 2, 3, 4])
})
