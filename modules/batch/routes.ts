import type { Module } from '../../src/module.ts'
import { batchProject } from '../commands.ts'

export const batch: Module = {
  writes: [['post', '/projects/:id/batch', batchProject, 'Do many writes at once']],
}
