import type { TObject } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { Command } from '../commands/command.ts'
import { isIdSchema } from '../schema/input.ts'
import type { Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import type { View } from '../model/view.ts'
import { operationSchema } from './operation-schema.ts'

/** One of many writes: a command's own input, with a name and conditions. */
export interface Operation extends Record<string, unknown> {
  op: string
  as?: string
  ifMatch?: string
  was?: Record<string, unknown>
}

export interface Kind {
  command: Command
  noun: Entity
  /** The fields that name something, by its id or by what an earlier operation is called. */
  ids: string[]
  projectKey?: string
  schema: TObject
  /** Compiled when the first operation comes. */
  check?: TypeCheck<TObject>
}

export type Kinds = ReadonlyMap<string, Kind>

/** What is done to rows inside one project: not what makes or ends it, nor integrations, nor the service's own work. */
const isInside = (command: Command<never>): boolean =>
  command.target.kind !== 'new' &&
  !['OWNER', 'nobody'].includes(command.role) &&
  (model().entities[nounOf(command)]?.load ?? 'on demand') !== 'on demand'

const nounOf = ({ noun }: Command<never>) => noun as Entity

export function kindsOf(commands: Command<never>[]): Kinds {
  const views = new Map(
    commands.flatMap((one) => (one.view && !one.view.untagged ? [[nounOf(one), one.view as View]] : [])),
  )
  const kinds = commands.filter(isInside).map((command): [string, Kind] => {
    const { target: at, destination: into, input, name } = command
    const noun = nounOf(command)
    const ids = Object.keys(input.properties).filter((key) => isIdSchema(input.properties[key]!))
    const projectKey = at.kind === 'project' ? at.key : into && 'projectId'
    const schema = operationSchema(command, views.get(noun)!, projectKey)
    return [name, { command: command as unknown as Command, noun, ids, projectKey, schema }]
  })
  return new Map(kinds)
}

export const subjectOf = ({ noun }: Kind, input: Record<string, unknown>): string | undefined =>
  (input[`${noun}Id`] ?? input.id) as string | undefined
