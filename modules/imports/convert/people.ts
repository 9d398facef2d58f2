import { caseless, normalEmail, oneForm } from '../../../src/schema/text.ts'
import type { ImportedPerson } from '../items.ts'
import { type Mapping, valueFor } from '../mapping.ts'

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
  private readonly byNameInAnyCase: Map<string, ProjectPerson[]>

  constructor(
    all: ProjectPerson[],
    private readonly mapping: Mapping,
  ) {
    this.byEmail = new Map(all.map((one) => [normalEmail(one.email), one]))
    this.byName = Map.groupBy(all, ({ name }) => oneForm(name))
    this.byNameInAnyCase = Map.groupBy(all, ({ name }) => caseless(oneForm(name)))
  }

  find(person: ImportedPerson): ProjectPerson | undefined {
    const email = valueFor(this.mapping.people, person.name) ?? person.email
    return email === undefined ? this.named(person.name) : this.byEmail.get(normalEmail(email))
  }

  /** The only person of the project with this name, or with this name in another case. */
  named(name: string): ProjectPerson | undefined {
    const same = this.byName.get(oneForm(name)) ?? this.byNameInAnyCase.get(caseless(oneForm(name)))
    return same?.length === 1 ? same[0] : undefined
  }
}

/** Returns `Ada <ada@example.com>`, or only the name or the address. */
export const textOfPerson = ({ name, email = '' }: ImportedPerson): string =>
  name && email && name !== email ? `${name} <${email}>` : name || email
