import { entityNames } from '../../drizzle/entities.ts'
import { isIntegration } from '../../drizzle/untold.ts'
import { lists } from '../facts/children.ts'
import { commitStatement, type Shape } from './statement.ts'

const all = [...entityNames].sort()
const contents = all.filter((name) => !isIntegration(name))
const children = lists.map(([, child]) => child).sort()
/** What fits every batch, and costs one the more the less of it there is to do. */
const widest = ({ joint, adds, sets, cuts, untold }: Shape): Shape => {
  const hasIntegrations = untold || [adds, sets, cuts].some((some) => some.some(isIntegration))
  const names = hasIntegrations ? all : contents
  const beside = { untold: hasIntegrations, jobs: true, kept: true }
  return { joint, opens: true, adds: names, puts: children, sets: names, cuts: names, ...beside }
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
