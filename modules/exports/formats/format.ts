import type { TaskRow } from '../../../drizzle/rows.ts'
import type { Entity } from '../../../src/model/entities.ts'
import type { User } from '../../accounts/user.ts'
import { headerOf, namedFields } from '../../tasks/schema.ts'
import type { ProjectParts, ExportedProject } from '../exported-project.ts'

/** A task as `GET /tasks/{id}` shows it. */
export interface ShownTask extends Omit<TaskRow, 'labelIds' | 'blockedByIds' | 'fields'> {
  labelIds: string[]
  blockedByIds: string[]
  fields: Record<string, string | number | boolean>
}

/** The address is known only while the account is a member of the project. */
export type Author = Pick<User, 'id' | 'name'> & Partial<Pick<User, 'email'>>

export interface ExportedTask {
  shown: ShownTask
  author: Author | null
}

/** Returns the people and the names of labels of a task, by the names of the fields in files. */
export function namedIn(shown: ShownTask, { labels, people }: ProjectParts) {
  const named: Record<string, User | string[] | null> = {}
  for (const [name, field] of namedFields) {
    const value = shown[name]
    named[headerOf(name, field)] = Array.isArray(value)
      ? value.map((id) => labels.get(id)!)
      : (people.get((value ?? '') as string) ?? null)
  }
  return named
}

/** Returns the texts of a file, called in this order. Children are written one by one, because a list may be long. */
export interface Writer {
  begin(): string
  task(task: ExportedTask): string
  beginChildren(entity: Entity, plural: string): string
  child(entity: Entity, shown: object): string
  endChildren(entity: Entity): string
  endTask(): string
  event?(shown: object): string
  end(): string
}

export interface Format {
  contentType: string
  extension: string
  /** True if tasks have an `author`. */
  hasAuthors: boolean
  open(exported: ExportedProject, parts: ProjectParts): Writer
}
