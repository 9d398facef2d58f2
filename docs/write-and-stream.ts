// Draws docs/write-and-stream.svg from real answers: start the service, then `npx bun docs/write-and-stream.ts [address]`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const address = process.argv[2] ?? 'http://localhost:3000'
const [width, height, lineHeight, gap, top] = [900, 270, 19, 16, 62]
const secondsEach = 3
const charactersInPane = 52

interface Step {
  request: string
  body: string
  answer: string
  event: string
}

const steps = await runSteps()
await writeFile(join(import.meta.dirname, 'write-and-stream.svg'), drawing(steps))

/** Writes three times, and reads after each write what the project's stream received. */
async function runSteps(): Promise<Step[]> {
  const email = `grace-${Date.now()}@example.com`
  const account = { name: 'Grace', email, password: 'correct horse' }
  const { access_token: token } = await (await send('POST', '/auth/register', account)).json()
  const project = await (await send('POST', '/projects', { name: 'Engine' }, token)).json()
  const events = await openStream(`/projects/${project.id}/events?after=1`, token)
  const done: Step[] = []
  const step = async (method: string, path: string, shownPath: string, body: Record<string, string>) => {
    const response = await send(method, path, body, token)
    const { projectId: _, ...shown } = body
    const answer = `${response.status} ${response.statusText}`
    done.push({
      request: `${method} ${shownPath}`,
      body: JSON.stringify(shown),
      answer,
      event: await nextEvent(events),
    })
    return response.json()
  }
  const task = await step('POST', '/tasks', '/tasks', { projectId: project.id, title: 'Draw the plate' })
  await step('PATCH', `/tasks/${task.id}`, '/tasks/01a2…', { status: 'DONE' })
  await step('POST', `/tasks/${task.id}/comments`, '/tasks/01a2…/comments', { text: 'In brass, please.' })
  await events.cancel()
  return done
}

async function send(method: string, path: string, body: unknown, token?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  return fetch(`${address}/api/v1${path}`, { method, headers, body: JSON.stringify(body) })
}

async function openStream(path: string, token: string): Promise<ReadableStreamDefaultReader<string>> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const response = await fetch(`${address}/api/v1${path}`, { headers })
  return response.body!.pipeThrough(new TextDecoderStream()).getReader()
}

async function nextEvent(stream: ReadableStreamDefaultReader<string>): Promise<string> {
  for (let text = ''; ;) {
    const { value, done } = await stream.read()
    if (done) throw new Error('the stream has ended')
    text += value
    const [, event] = /^event: [^\n]*\ndata: ([^\n]*)\n\n/m.exec(text) ?? []
    if (event) return event
  }
}

function drawing(all: Step[]): string {
  const seconds = all.length * secondsEach + 3
  const left = all.flatMap(({ request, body, answer }, n) => [
    line(0, n * 3, `$ ${request}`, `at${n}`),
    line(0, n * 3 + 1, `  ${body}`, `at${n}`),
    line(0, n * 3 + 2, `  ${answer}`, `answer after${n}`),
  ])
  const right = all.flatMap(({ event }, n) => {
    const { seq, type, after } = JSON.parse(event)
    return [
      line(1, n * 3, `id: ${seq}`, `after${n}`),
      line(1, n * 3 + 1, `event: ${type}`, `answer after${n}`),
      line(
        1,
        n * 3 + 2,
        `data: {… ${JSON.stringify(after.title ?? after.text ?? after.status)} …}`,
        `after${n}`,
      ),
    ]
  })
  const starts = all.flatMap((_, n) => [
    appearing(`at${n}`, n * secondsEach, seconds),
    appearing(`after${n}`, n * secondsEach + 1, seconds),
  ])
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"
  aria-label="Three requests on the left; the event of each arrives in the stream on the right">
<style>
  text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }
  .title { fill: #8b949e } .answer { fill: #7ee787 }
  @media (prefers-reduced-motion: no-preference) {
${starts.join('\n')}
  }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<path d="M${width / 2} 0V${height}M0 36H${width}" stroke="#30363d"/>
<text class="title" x="16" y="23">requests</text>
<text class="title" x="${width / 2 + 16}" y="23">GET /projects/01a2…/events (text/event-stream)</text>
${[...left, ...right].join('\n')}
</svg>
`
}

/** Shows a class from `start` on, until shortly before the drawing begins again. */
function appearing(name: string, start: number, seconds: number): string {
  const percent = Math.round((start / seconds) * 100)
  const frames = `0%,${percent}%{opacity:0} ${percent + 2}%,97%{opacity:1} 100%{opacity:0}`
  return `    .${name} { animation: ${name} ${seconds}s infinite } @keyframes ${name} { ${frames} }`
}

function line(pane: number, row: number, text: string, kind: string): string {
  const shown = text.length > charactersInPane ? `${text.slice(0, charactersInPane - 1)}…` : text
  const escaped = shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const y = top + row * lineHeight + Math.floor(row / 3) * gap
  return `<text class="${kind}" x="${16 + (pane * width) / 2}" y="${y}">${escaped}</text>`
}
