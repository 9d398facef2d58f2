// Runs on Deno (see deno.deep.test.ts) and prints the responses of the service as JSON.
import process from 'node:process'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logger.ts'
import { openServices } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { react } from '../../workers/reactions.ts'
import { make, openClient, register } from '../support/client.ts'

interface Server {
  addr: { port: number }
  shutdown(): Promise<void>
}
declare const Deno: {
  version: { deno: string }
  serve(options: object, handler: (request: Request) => Response | Promise<Response>): Server
}

const config = readConfig(process.env)
const services = openServices(config, openLog(config.logLevel), { commands, react })
const app = createApp(services)
const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, app.fetch)
const origin = `http://127.0.0.1:${server.addr.port}`

const ada = await register(openClient(origin))
const project = await make(ada, '/projects', { name: 'Engine' })
await make(ada, '/tasks', { projectId: project.id, title: 'Draw' })
const listed = await ada.get(`/tasks?projectId=${project.id}`)
const docs = await fetch(`${origin}/api/docs`)
const ready = await fetch(`${origin}/health/ready`)

const results = {
  deno: Deno.version.deno,
  listed: listed.body.map(({ title, number }) => [title, number]),
  rejected: (await ada.post('/tasks', { projectId: project.id })).body.message,
  docs: [docs.status, (await docs.text()).includes('swagger-ui')],
  ready: [ready.status, await ready.json()],
}
await server.shutdown()
await services.close()
console.log(JSON.stringify(results))
process.exit(0)
