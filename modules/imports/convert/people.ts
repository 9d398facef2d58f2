import { normalEmail } from '../../../src/schema/text.ts'
import type { ImportedPerson } from '../items.ts'
import type { Mapping } from '../mapping.ts'

/** The owner or a member of the project. */
export interface ProjectPerson {
  id: string
  name: string
  email: string
}

/** Finds the accounts of people in a file among the people of the project. */
export class People {
  private readonly byEmail: Map<string, ProjectPerson>
  private readonly byName: Map<string, ProjectPerson[]>

  constructor(
    all: ProjectPerson[],
    private readonly mapping: Mapping,
  ) {
    this.byEmail = new Map(all.map((one) => [normalEmail(one.email), one]))
    this.byName = Map.groupBy(all, ({ name }) => name)
  }

  find(person: ImportedPerson): ProjectPerson | undefined {
    const { people = {} } = this.mapping
    const given = Object.hasOwn(people, person.name) ? people[person.name] : undefined
    const email = given ?? person.email
    return email === undefined ? this.named(person.name) : this.byEmail.get(normalEmail(email))
  }

  /** The only person of the project with exactly this name. */
  named(name: string): ProjectPerson | undefined {
    const same = this.byName.get(name)
    return same?.length === 1 ? same[0] : undefined
  }
}

/** Returns `Ada <ada@example.com>`, or only the name or the address. */
export const textOfPerson = ({ name, email = '' }: ImportedPerson): string =>
  name && email && name !== email ? `${name} <${email}>` : name || email
