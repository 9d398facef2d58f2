import { definitionOf, model } from '../model/model.ts'
import type { Entity } from '../model/entities.ts'
import { commitStatement, type Shape } from './statement.ts'

/** Whether rows of an entity have columns that no event holds. */
export const hasUntold = (name: Entity): boolean => definitionOf(name).untold !== undefined

/** What fits every batch, and costs one the more the less of it there is to do. */
function widest({ joint, untold }: Shape): Shape {
  const all = [...model().names].sort()
  const names = untold ? all : all.filter((name) => !hasUntold(name))
  const puts = model()
    .ofTask.map(({ name }) => name)
    .sort()
  return {
    joint,
    opens: true,
    adds: names,
    puts,
    sets: names,
    cuts: names,
    untold,
    jobs: true,
    kept: true,
  }
}

export type Choose = (shape: Shape) => { shape: Shape; text: string }

/**
 * Chooses the statement for a batch. Each is prepared once on each connection, for good and at about 0.4 MiB there, and
 * together what batches may contain has a hundred thousand shapes: the first `most` get a statement of their own.
 */
export function openShapes(most: number): Choose {
  const texts = new Map<string, string>()
  return (asked) => {
    const hasOwn = texts.has(JSON.stringify(asked)) || texts.size < most
    const shape = hasOwn ? asked : widest(asked)
    const key = JSON.stringify(shape)
    const text = texts.get(key) ?? commitStatement(shape)
    texts.set(key, text)
    return { shape, text }
  }
}
