import type { Command } from './command.ts'
import { add } from './commands/add.ts'
import { batch } from './commands/batch.ts'
import { claimNext } from './commands/claim-next.ts'
import { comment } from './commands/comment.ts'
import { completionFor } from './commands/completion.ts'
import { done } from './commands/done.ts'
import { edit } from './commands/edit.ts'
import { history } from './commands/history.ts'
import { login } from './commands/login.ts'
import { logout } from './commands/logout.ts'
import { projects } from './commands/projects.ts'
import { search } from './commands/search.ts'
import { tail } from './commands/tail.ts'
import { tasks } from './commands/tasks.ts'
import { exportFile } from './commands/transfer/export.ts'
import { importFile } from './commands/transfer/import.ts'
import { imports } from './commands/transfer/imports.ts'
import { undo } from './commands/undo.ts'
import { use } from './commands/use.ts'

const withoutCompletion = [
  ...[login, logout, projects, use, search, tasks, add, edit, done, comment],
  ...[tail, batch, undo, history, claimNext, importFile, imports, exportFile],
]

/** All commands, in the order of the help. */
export const commands: Command[] = [...withoutCompletion, completionFor(withoutCompletion)]
