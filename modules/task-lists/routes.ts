import type { Module } from '../../src/module.ts'
import { taskList } from './reads.ts'

export const taskLists: Module = { reads: (services) => [['/tasks', taskList(services), 'List tasks']] }
