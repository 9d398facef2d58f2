import type { ImportedItem } from '../../items.ts'

const maxPeople = 10_000

/** Collects the email addresses of the owner and the members. Their lines are before the tasks. */
export class Addresses {
  private readonly byId = new Map<unknown, string>()

  add({ docket, kind, project, user }: Record<string, unknown>): void {
    const person: unknown = docket ? partOf(project, 'owner') : kind === 'member' ? user : undefined
    const [id, email] = [partOf(person, 'id'), partOf(person, 'email')]
    if (typeof email === 'string' && this.byId.size < maxPeople) this.byId.set(id, email)
  }

  /** Adds the address of an author. */
  withAddress(item: ImportedItem, { author, importedAuthor }: Record<string, unknown>): ImportedItem {
    if ((item.kind !== 'task' && item.kind !== 'comment') || !item.author || importedAuthor) return item
    const email = this.byId.get(partOf(author, 'id'))
    return email ? { ...item, author: { email, ...item.author } } : item
  }
}

export const partOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
