import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    email: text('email').notNull().unique(),
    emailVerifiedAt: instant('email_verified_at'),
    /** Null for a service account. */
    passwordHash: text('password_hash'),
    /** Tokens with a smaller version are revoked. */
    tokenVersion: integer('token_version').notNull().default(0),
    /** The id of the last change of the name; null for the first name. */
    renamedBy: uuid('renamed_by'),
    // Set only for service accounts; null for rows of earlier releases.
    projectId: uuid('project_id'),
    createdBy: uuid('created_by'),
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    index('users_project')
      .on(t.projectId, t.id)
      .where(sql`project_id is not null`),
  ],
)

/** A token is valid while its version equals the token version of its account. */
export const apiTokens = pgTable(
  'api_tokens',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    version: integer('version').notNull(),
    /** A number from 1 to the limit of tokens, unique for an account and version. So it enforces the limit. */
    slot: integer('slot').notNull(),
    /** SHA-256, as 64 hexadecimal digits. */
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

/** One row with the id of the last change of any name. ETags contain the id: a new name changes no project version. */
export const people = pgTable('people', {
  one: boolean('one').primaryKey().default(true),
  changeId: uuid('change_id').notNull(),
})

/** Revoked sign-in tokens. A row is deleted after its token has expired. */
export const revokedTokens = pgTable(
  'revoked_tokens',
  { jti: uuid('jti').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (t) => [index('revoked_tokens_age').on(t.expiresAt)],
)

/** Tokens sent by mail. No column holds a token: the token is computed from the id and JWT_SECRET. */
export const mailTokens = pgTable(
  'mail_tokens',
  {
    /** Equals the id of the job that sends the mail. */
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    purpose: text('purpose').$type<'verify' | 'reset'>().notNull(),
    email: text('email').notNull(),
    /** The account's token version when the mail was sent. */
    version: integer('version').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (t) => [index('mail_tokens_account').on(t.userId), index('mail_tokens_age').on(t.expiresAt)],
)
