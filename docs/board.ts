// Draws docs/board.png and docs/board-dark.png: start the service, then `npx bun docs/board.ts [address]`. Needs Chromium.
import { join } from 'node:path'
import { launch } from 'puppeteer-core'

const address = process.argv[2] ?? 'http://localhost:3000'
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const [ada, charles] = await Promise.all(['Ada Lovelace', 'Charles Babbage'].map(register))
const { token } = ada!
const project = await send('POST', '/projects', { name: 'Analytical Engine' })
await send('POST', `/projects/${project.id}/members/invite`, { email: charles!.user.email, role: 'EDITOR' })
const label = async (name: string, color: string) =>
  (await send('POST', `/projects/${project.id}/labels`, { name, color })).id
const [mill, store, paper] = [
  await label('mill', '#1d76db'),
  await label('store', '#0e8a16'),
  await label('paper', '#b35900'),
]
const [me, him] = [ada!.user.id, charles!.user.id]
const drawing = await add('Draw the second plate', {
  status: 'IN_PROGRESS',
  priority: 'HIGH',
  labelIds: [paper],
  assigneeId: me,
  dueDate: day(2),
})
await add('Cast the frame of the mill', {
  priority: 'HIGH',
  labelIds: [mill],
  assigneeId: him,
  dueDate: day(-4),
})
await add('Order brass for the gears', { labelIds: [mill, store], dueDate: day(20) })
await add('Mount the gears on the axes', { labelIds: [mill], blockedByIds: [drawing.id], assigneeId: him })
await add('Measure the axes of the store', { labelIds: [store], priority: 'LOW' })
await add('Ask the printer for thicker cards', { labelIds: [paper] })
const notes = await add('Write the note on Bernoulli numbers', {
  status: 'IN_PROGRESS',
  labelIds: [paper],
  assigneeId: me,
})
await add('Cut the first hundred cards', {
  status: 'IN_PROGRESS',
  priority: 'LOW',
  labelIds: [paper],
  dueDate: day(9),
})
await add('Translate the memoir', { status: 'DONE', labelIds: [paper], assigneeId: me })
await add('Show the drawings to the Society', { status: 'DONE', assigneeId: him })
await add('Choose between steam and hand', { status: 'DONE', labelIds: [mill], priority: 'HIGH' })
await send('POST', `/tasks/${notes.id}/claim`, { leaseSeconds: 7_200 }, charles!.token)

const browser = await launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage()
await page.setViewport({ width: 1280, height: 760 })
await page.goto(`${address}/board`)
await page.evaluate((session) => sessionStorage.setItem('docket-session', session), JSON.stringify(ada))
for (const [scheme, name] of [
  ['light', 'board.png'],
  ['dark', 'board-dark.png'],
] as const) {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  await page.goto(`${address}/board?${scheme}#/projects/${project.id}`)
  await page.waitForSelector('#columns[aria-busy="false"]')
  await page.screenshot({ path: join(import.meta.dirname, name) })
}
await browser.close()

async function register(name: string) {
  const email = `${name.split(' ')[0]!.toLowerCase()}-${Date.now()}@example.com`
  const { access_token, user } = await send(
    'POST',
    '/auth/register',
    { name, email, password: 'correct horse' },
    '',
  )
  return { token: access_token as string, user: user as { id: string; email: string } }
}

function add(title: string, fields: object) {
  return send('POST', '/tasks', { projectId: project.id, title, ...fields })
}

async function send(method: string, path: string, body: object, as?: string) {
  const bearer = as ?? token
  const headers = { 'content-type': 'application/json', ...(bearer && { authorization: `Bearer ${bearer}` }) }
  const response = await fetch(`${address}/api/v1${path}`, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response.json()
}
