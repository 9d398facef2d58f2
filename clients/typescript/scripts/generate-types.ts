import { writeFile } from 'node:fs/promises'
import { commands } from '../../../modules/commands.ts'
import { createApp } from '../../../src/app.ts'
import { readConfig } from '../../../src/config.ts'
import { openLog } from '../../../src/logger.ts'
import { openServices } from '../../../src/services.ts'
import { react } from '../../../workers/reactions.ts'
import { declarationsOf, typesOf } from './types-of.ts'

/** The document needs no Postgres and no Redis: nothing listens on this port. */
const nowhere = '127.0.0.1:9'

const config = readConfig({
  DATABASE_URL: `postgres://${nowhere}/none`,
  REDIS_URL: `redis://${nowhere}`,
  JWT_SECRET: 'a secret that signs nothing at all',
})
const app = createApp(openServices(config, openLog('fatal'), { commands, react }))
const response = await app.fetch(new Request('http://localhost/api/docs/json'))
const document = await response.text()
const write = (name: string, text: string) => writeFile(new URL(`../src/${name}`, import.meta.url), text)
await write('api.ts', await typesOf(document))
await write('declarations.ts', declarationsOf(document))
process.exit(0)
