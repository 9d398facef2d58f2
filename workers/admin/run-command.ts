import { commands } from '../../modules/commands.ts'
import type { Order } from '../../src/commands/order.ts'
import { openGround } from '../../src/ground.ts'
import { openLog } from '../../src/log.ts'
import { openWriting } from '../../src/writing.ts'
import { react } from '../reactions.ts'
import type { Errand } from './topic.ts'

/** Runs a command of the API: processes that serve its project notice it as they do each other's writes. */
export async function runCommand({ config }: Errand, order: Order): Promise<void> {
  const log = openLog('silent')
  const ground = openGround(config, log)
  const writing = openWriting(ground, { commands, react }, log)
  try {
    await writing.run(order)
  } finally {
    await writing.close()
    await ground.close()
  }
}
