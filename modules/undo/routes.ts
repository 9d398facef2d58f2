import type { Module } from '../../src/module.ts'
import { undoProject } from './undo.ts'

export const undo: Module = { writes: [['post', '/projects/:id/undo', undoProject, 'Undo changes']] }
