import { batchOf } from '../src/batch/batch.ts'
import type { Command } from '../src/commands/command.ts'
import { commentCommands } from './comments/commands.ts'
import { memberCommands } from './members/commands.ts'
import { projectCommands } from './projects/commands.ts'
import { serviceAccountCommands } from './service-accounts/commands.ts'
import { createToken, deleteToken } from './service-accounts/tokens.ts'
import { subtaskCommands } from './subtasks/commands.ts'
import { taskCommands } from './tasks/commands.ts'
import { undoProject } from './undo/undo.ts'
import { webhookCommands } from './webhooks/commands.ts'
import { replayWebhook } from './webhooks/replay.ts'

const single: Command<never>[] = [
  ...projectCommands,
  ...memberCommands,
  ...serviceAccountCommands,
  createToken,
  deleteToken,
  ...webhookCommands,
  replayWebhook,
  ...taskCommands,
  ...subtaskCommands,
  ...commentCommands,
]

export const batchProject = batchOf(single)

/** Everything that may be done to a project and to what is in it. */
export const commands: Command<never>[] = [...single, batchProject, undoProject]
