import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'

/** Notes the text of every query that is sent from now on: for an app that is made after this. */
export function noteQueries({ database }: Pick<Services, 'database'>): string[] {
  const texts: string[] = []
  database.reads = new Proxy<Sql>(database.reads, {
    apply(target, self, args: [TemplateStringsArray | string, ...unknown[]]) {
      if (typeof args[0] !== 'string') texts.push(args[0].join('?')) // a string names a column
      return Reflect.apply(target, self, args)
    },
  })
  return texts
}
