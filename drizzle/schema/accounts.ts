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
    /** Tokens of an earlier version are revoked. */
    tokenVersion: integer('token_version').notNull().default(0),
    /** The last change of the name; null for the first name. ETags of rows that show the name contain it. */
    renamedBy: uuid('renamed_by'),
    // Of a service account. Null where releases before did not store them.
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

/** A token holds as long as its version is that of its account. */
export const apiTokens = pgTable(
  'api_tokens',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    version: integer('version').notNull(),
    /** Each token of an account and a version has another slot: so their number is bounded. */
    slot: integer('slot').notNull(),
    /** SHA-256, as 64 hexadecimal digits. */
    digest: text('digest').notNull().unique(),
    name: text('name').notNull(),
    /** Separated by blanks, as the ids of the projects that the token is bound to. */
    scopes: text('scopes').notNull(),
    projects: text('projects'),
    expiresAt: instant('expires_at').notNull(),
    // Null where releases before did not store them.
    createdBy: uuid('created_by'),
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [unique('api_tokens_slot').on(t.userId, t.version, t.slot), index('api_tokens_age').on(t.expiresAt)],
)

/** One row: the last change of any name, or deletion of an account. Answers of projects change with it, their versions do not. */
export const people = pgTable('people', {
  one: boolean('one').primaryKey().default(true),
  changeId: uuid('change_id').notNull(),
})

/** Sign-in tokens that were revoked; a row is deleted once its token has expired. */
export const revokedTokens = pgTable(
  'revoked_tokens',
  { jti: uuid('jti').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (t) => [index('revoked_tokens_age').on(t.expiresAt)],
)

/** The tokens of mails. No column holds a token: it is computed from the id and the service's secret. */
export const mailTokens = pgTable(
  'mail_tokens',
  {
    /** Also the id of the job that sends the mail. */
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    purpose: text('purpose').$type<'verify' | 'reset'>().notNull(),
    email: text('email').notNull(),
    /** The account's token version at that time. */
    version: integer('version').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (t) => [index('mail_tokens_account').on(t.userId), index('mail_tokens_age').on(t.expiresAt)],
)
