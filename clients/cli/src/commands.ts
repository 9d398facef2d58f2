import type { Command } from './command.ts'
import { add, done, edit } from './commands/edit.ts'
import { batch } from './commands/batch.ts'
import { claimNext } from './commands/claim-next.ts'
import { append, comment } from './commands/comment.ts'
import { completionFor } from './commands/completion.ts'
import { history } from './commands/history.ts'
import { login, logout } from './commands/login.ts'
import { projects, use } from './commands/projects.ts'
import { search } from './commands/search.ts'
import { tail } from './commands/tail.ts'
import { tasks } from './commands/tasks.ts'
import { exportFile } from './commands/transfer/export.ts'
import { importFile } from './commands/transfer/import.ts'
import { imports } from './commands/transfer/imports.ts'
import { undo } from './commands/undo.ts'

const withoutCompletion = [
  ...[login, logout, projects, use, search, tasks, add, edit, append, done, comment],
  ...[tail, batch, undo, history, claimNext, importFile, imports, exportFile],
]

/** All commands, in the order of the help. */
export const commands: Command[] = [...withoutCompletion, completionFor(withoutCompletion)]
