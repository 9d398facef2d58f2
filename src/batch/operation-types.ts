import type { TObject } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { Command } from '../commands/command.ts'
import { isIdSchema } from '../schema/input.ts'
import type { Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import type { View } from '../model/view.ts'
import { operationSchema } from './operation-schema.ts'

export interface Operation extends Record<string, unknown> {
  op: string
  as?: string
  ifMatch?: string
  was?: Record<string, unknown>
}

export interface OperationType {
  command: Command
  noun: Entity
  /** The input fields that contain ids, or `#name` of an earlier operation. */
  idFields: string[]
  projectKey?: string
  schema: TObject
  check?: TypeCheck<TObject>
}

export type OperationTypes = ReadonlyMap<string, OperationType>

/** True for commands that a batch may contain. They do not create or delete the project, and are not internal. */
const isInside = (command: Command<never>): boolean =>
  command.target.kind !== 'new' &&
  command.role !== null &&
  command.role !== 'OWNER' &&
  (model().entities[nounOf(command)]?.load ?? 'on demand') !== 'on demand'

const nounOf = ({ noun }: Command<never>) => noun as Entity

export function operationTypesOf(commands: Command<never>[]): OperationTypes {
  const views = new Map(
    commands.flatMap((one) => (one.view && !one.view.hasNoEtag ? [[nounOf(one), one.view as View]] : [])),
  )
  const kinds = commands.filter(isInside).map((command): [string, OperationType] => {
    const { target, destination, input, name } = command
    const noun = nounOf(command)
    const idFields = Object.keys(input.properties).filter((key) => isIdSchema(input.properties[key]!))
    const projectKey = target.kind === 'project' ? target.key : destination && 'projectId'
    const schema = operationSchema(command, views.get(noun)!, projectKey)
    return [name, { command: command as unknown as Command, noun, idFields, projectKey, schema }]
  })
  return new Map(kinds)
}

export const subjectOf = ({ noun }: OperationType, input: Record<string, unknown>): string | undefined =>
  (input[`${noun}Id`] ?? input.id) as string | undefined
