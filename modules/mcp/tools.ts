import type { Tool } from './tool.ts'
import { apply } from './tools/apply.ts'
import { changes } from './tools/changes.ts'
import { claimNext } from './tools/claim-next.ts'
import { extendOrRelease } from './tools/extend-or-release.ts'
import { find } from './tools/find.ts'
import { get } from './tools/get.ts'
import { history } from './tools/history.ts'
import { projects } from './tools/projects.ts'
import { undo } from './tools/undo.ts'

/** All tools, in the order of `tools/list`. */
export const tools: Tool[] = [
  ...[projects, find, get, apply, undo, changes],
  ...[claimNext, extendOrRelease, history],
]
