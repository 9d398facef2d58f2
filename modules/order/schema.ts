import { type Static, Type } from '@sinclair/typebox'
import { IdOf, OneOf } from '../../src/schema/input.ts'

const neighbour = (side: string) =>
  Type.Optional(
    Type.Unsafe<string>({
      ...IdOf('task'),
      description: `The id of a task: places the task directly ${side} this task`,
    }),
  )

/** An input has at most one of these fields. */
export const spot = {
  before: neighbour('before'),
  after: neighbour('after'),
  place: Type.Optional(OneOf('TaskPlace', ['first', 'last'], 'Places the task first or last in the project')),
}

const Spot = Type.Object(spot)
export type Spot = Static<typeof Spot>
