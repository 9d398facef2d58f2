import type { Module } from '../../src/module.ts'
import { claimTask, releaseTask } from './commands.ts'

export const workQueue: Module = {
  writes: [
    ['post', '/tasks/:id/claim', claimTask, 'Claim a task, or extend the claim'],
    ['post', '/tasks/:id/release', releaseTask, 'Release a claimed task'],
  ],
}
