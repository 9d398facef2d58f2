// Runs on Deno (see deno.deep.test.ts): serves requests, and prints the address.
import process from 'node:process'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logger.ts'
import { openServices } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { react } from '../../workers/reactions.ts'

type Handler = (request: Request) => Response | Promise<Response>
declare const Deno: { serve(options: object, handler: Handler): unknown }

const config = readConfig(process.env)
const services = openServices(config, openLog(config.logLevel), { commands, react })
const onListen = ({ port }: { port: number }) => console.log(`http://127.0.0.1:${port}`)
Deno.serve({ hostname: '127.0.0.1', port: 0, onListen }, createApp(services).fetch)
