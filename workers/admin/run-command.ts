import { commands } from '../../modules/commands.ts'
import type { CommandRequest } from '../../src/commands/request.ts'
import { openLog } from '../../src/log.ts'
import { openWriting } from '../../src/writing.ts'
import { react } from '../reactions.ts'
import type { Errand } from './topic.ts'

/** Runs a command of the API: processes that serve its project notice it as they do each other's writes. */
export async function runCommand({ config }: Errand, request: CommandRequest): Promise<void> {
  const writing = openWriting(config, openLog('silent'), { commands, react })
  try {
    await writing.run(request)
  } finally {
    await writing.close()
  }
}
