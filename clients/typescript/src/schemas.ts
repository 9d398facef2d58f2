import type { components } from './api.ts'

type Schemas = components['schemas']

export type Account = Schemas['Account']
export type Comment = Schemas['Comment']
export type Event = Schemas['Event']
export type EventType = Schemas['EventType']
export type Field = Schemas['Field']
export type Label = Schemas['Label']
export type Member = Schemas['Member']
export type Project = Schemas['Project']
export type Message = Schemas['Message']
export type Role = Schemas['Role']
export type ServiceAccount = Schemas['ServiceAccount']
export type Subtask = Schemas['Subtask']
export type Task = Schemas['Task']
export type View = Schemas['View']
export type Webhook = Schemas['Webhook']
