import { Type } from '@sinclair/typebox'
import { IdOf, Input } from '../../src/commands/input.ts'
import { Nullable } from '../../src/schema/text.ts'

// Inputs of commands, as rows hold the values: types are a text with blanks between, and secrets are sealed.

const ofProject = { projectId: IdOf('project') }
const ofWebhook = { ...ofProject, webhookId: IdOf('webhook') }
const types = Nullable(Type.String())

export const CreateWebhook = Input({
  ...ofProject,
  url: Type.String(),
  types,
  maxEvents: Type.Integer(),
  enabled: Type.Boolean(),
  secret: Type.String(),
})
export const UpdateWebhook = Input({
  ...ofWebhook,
  url: Type.Optional(Type.String()),
  types: Type.Optional(types),
  maxEvents: Type.Optional(Type.Integer()),
  enabled: Type.Optional(Type.Boolean()),
})
export const WebhookId = Input(ofWebhook)
export const RotateWebhook = Input({ ...ofWebhook, secret: Type.String() })
export const ReplayWebhook = Input({ ...ofWebhook, after: Type.Integer() })
export const DisableWebhook = Input({
  ...ofWebhook,
  revision: Type.Optional(Type.Integer()),
  reason: Type.String(),
})
