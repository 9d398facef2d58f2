import { commands } from '../../modules/commands.ts'
import type { CommandRequest } from '../../src/commands/request.ts'
import { openLog } from '../../src/logger.ts'
import { openWritePath } from '../../src/services.ts'
import { react } from '../reactions.ts'
import type { AdminContext } from './command-group.ts'

export async function runCommand({ config }: AdminContext, request: CommandRequest): Promise<void> {
  const writePath = openWritePath(config, openLog('silent'), { commands, react })
  try {
    await writePath.run(request)
  } finally {
    await writePath.close()
  }
}
