import { test } from 'bun:test'
import { forFile } from '../support/service.ts'
import { openWebProcess } from '../support/web-process.ts'
import { expectShownOutput, programOf } from './readme-program.ts'
import { runIn, runtimes } from './runtimes.ts'

const { web } = await forFile(openWebProcess())

test.each(runtimes)('%s: every example of the README prints the shown output', async (runtime) => {
  expectShownOutput(await runIn(runtime, programOf(web.url, runtime)))
})
