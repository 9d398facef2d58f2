import type { Tool } from './tool.ts'
import { projects } from './tools/projects.ts'

/** In the order in which agents see them: projects, find, get, apply, undo, changes, claim_next, extend_or_release, history. */
export const tools: Tool[] = [projects]
