import { boolean, index, integer, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { instant, partialIndex } from '../columns.ts'

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    email: text('email').notNull().unique(),
    emailVerifiedAt: instant('email_verified_at'),
    passwordHash: text('password_hash'),
    /** Tokens with a smaller version are revoked. */
    tokenVersion: integer('token_version').notNull().default(0),
    renamedBy: uuid('renamed_by'),
    // Set only for service accounts; null for rows of earlier releases.
    projectId: uuid('project_id'),
    createdBy: uuid('created_by'),
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [partialIndex('users_project', [t.projectId, t.id], 'project_id is not null')],
)

/** A token is valid while its version equals the account's token version. */
export const apiTokens = pgTable(
  'api_tokens',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    version: integer('version').notNull(),
    /** From 1 to the limit of tokens; the unique constraint enforces the limit. */
    slot: integer('slot').notNull(),
    /** 64 hexadecimal digits of SHA-256. */
    digest: text('digest').notNull().unique(),
    name: text('name').notNull(),
    // Lists of scopes and of project ids, separated by spaces. If `projects` is null, the token is for all projects.
    scopes: text('scopes').notNull(),
    projects: text('projects'),
    expiresAt: instant('expires_at').notNull(),
    // Null for rows of earlier releases.
    createdBy: uuid('created_by'),
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [unique('api_tokens_slot').on(t.userId, t.version, t.slot), index('api_tokens_age').on(t.expiresAt)],
)

/** The only row contains the id of the last change of any name. ETags contain this id. */
export const people = pgTable('people', {
  one: boolean('one').primaryKey().default(true),
  changeId: uuid('change_id').notNull(),
})

export const revokedTokens = pgTable(
  'revoked_tokens',
  { jti: uuid('jti').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (t) => [index('revoked_tokens_age').on(t.expiresAt)],
)

/** Tokens sent by mail are computed from the id and JWT_SECRET, so no column holds a token. */
export const mailTokens = pgTable(
  'mail_tokens',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    purpose: text('purpose').$type<'verify' | 'reset'>().notNull(),
    email: text('email').notNull(),
    /** The token version of the account when the mail was sent. */
    version: integer('version').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (t) => [index('mail_tokens_account').on(t.userId), index('mail_tokens_age').on(t.expiresAt)],
)
