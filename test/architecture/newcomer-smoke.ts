// Run in a copy of the code that a newcomer has edited: see newcomer.test.ts. Says what it met.
import process from 'node:process'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/log.ts'
import { openServices } from '../../src/services.ts'
import { migrate } from '../../drizzle/migrate.ts'
import { commands } from '../../modules/commands.ts'
import { react } from '../../workers/reactions.ts'
import { make, openClient, register } from '../support/client.ts'

const config = readConfig(process.env)
await migrate(config.databaseUrl)
const services = openServices(config, openLog(config.logLevel), { commands, react })
const app = createApp(services)
const ada = await register(openClient('http://localhost', undefined, (request) => app.fetch(request)))
const project = await make(ada, '/projects', { name: 'Engine' })
const task = { projectId: project.id, title: 'Draw' }
const { id } = await make(ada, '/tasks', { ...task, estimateMinutes: 90 })
const plain = await make(ada, '/tasks', task)
const refused = await ada.post('/tasks', { ...task, estimateMinutes: 'soon' })
const changed = await ada.patch(`/tasks/${id}`, { estimateMinutes: 45 })
const listed = await ada.get(`/tasks?projectId=${project.id}`)
const finished = await ada.post(`/tasks/${id}/finish`)
const read = await ada.get(`/tasks/${id}`)
const document = await ada.get('/../docs/json')
const sql = services.database.reads
const stored = await sql`select estimate_minutes from tasks where id = ${id}`
const logged = await sql`select after->'estimateMinutes' as minutes from events
  where entity_id = ${id} order by seq`
await services.close()

const minutes = (text: string) => [...text.matchAll(/"estimateMinutes":(\w+)/g)].map(([, one]) => one)
const told = {
  made: minutes(JSON.stringify(plain)),
  refused: refused.body,
  changed: minutes(changed.text),
  listed: minutes(listed.text),
  finished: [finished.status, finished.body.status, read.body.status, minutes(read.text)],
  stored,
  logged: logged.map((one) => one.minutes),
  documented: [
    document.text.includes('A whole number of minutes'),
    document.text.includes('/tasks/{id}/finish'),
  ],
}
console.log(JSON.stringify(told))
process.exit(0)
