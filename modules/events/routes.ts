import type { Module } from '../../src/module.ts'
import { listEvents } from './reads.ts'

export const events: Module = {
  reads: (services) => [['/projects/:id/events', listEvents(services), 'List events']],
}
