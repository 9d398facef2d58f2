import { batchOf } from '../src/batch/batch.ts'
import type { Command } from '../src/commands/command.ts'
import { commandsOf, type Module } from '../src/module.ts'
import { importRows } from './imports/command.ts'
import { modules } from './modules.ts'
import { serviceAccountCommands } from './service-accounts/commands.ts'
import { createToken, deleteToken } from './service-accounts/tokens.ts'
import { recordTimes, unassignTasks } from './tasks/commands.ts'
import { undoProject } from './undo/undo.ts'
import { webhookCommands } from './webhooks/commands.ts'
import { claimNextTask } from './work-queue/commands.ts'
import { recordReady } from './work-queue/ready-tasks.ts'
import { workQueue } from './work-queue/routes.ts'

const integrations = [...serviceAccountCommands, createToken, deleteToken, ...webhookCommands]
const ofProject = [...commandsOf([...modules, workQueue]), claimNextTask]
const single = [...ofProject, unassignTasks, recordTimes, recordReady, ...integrations]

export const batchProject = batchOf(single)

export const commands: Command<never>[] = [...single, batchProject, undoProject, importRows]

export const batch: Module = {
  writes: [['post', '/projects/:id/batch', batchProject, 'Do many writes at once']],
}
