import type { Module } from '../../src/module.ts'
import { eventReads } from './reads.ts'

export const events: Module = {
  reads: (services) => [['/projects/:id/events', eventReads(services).list, 'List events']],
}
