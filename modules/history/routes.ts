import type { Module } from '../../src/module.ts'
import { historyReads } from './reads.ts'

export const history: Module = {
  reads(services) {
    const { ofProject, ofTask } = historyReads(services)
    return [
      ['/projects/:id/history', ofProject, "Read a project's history"],
      ['/tasks/:id/history', ofTask, "Read a task's history"],
    ]
  },
}
