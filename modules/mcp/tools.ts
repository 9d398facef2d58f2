import type { Tool } from './tool.ts'
import { apply } from './tools/apply.ts'
import { claimNext } from './tools/claim-next.ts'
import { extendOrRelease } from './tools/extend-or-release.ts'
import { projects } from './tools/projects.ts'
import { undo } from './tools/undo.ts'

/** In the order in which agents see them: projects, find, get, apply, undo, changes, claim_next, extend_or_release, history. */
export const tools: Tool[] = [projects, apply, undo, claimNext, extendOrRelease]
