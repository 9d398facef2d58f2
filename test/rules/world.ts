import type { Body, Person } from '../kit.ts'

export interface World {
  people: Person[]
  projects: Body[]
  members: Body[]
  tasks: Body[]
  subtasks: Body[]
  comments: Body[]
  labels: Body[]
  fields: (Body & { key: string; type: string })[]
  views: Body[]
}

export const emptyWorld = (people: Person[]): World => ({
  people,
  projects: [],
  members: [],
  tasks: [],
  subtasks: [],
  comments: [],
  labels: [],
  fields: [],
  views: [],
})
