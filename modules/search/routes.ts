import type { Module } from '../../src/module.ts'
import { search } from './reads.ts'

export const searches: Module = { reads: (services) => [['/search', search(services), 'Search']] }
