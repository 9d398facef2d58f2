import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    email: text('email').notNull().unique(),
    /** Null until the owner of the address has confirmed it. */
    emailVerifiedAt: instant('email_verified_at'),
    /** Null for a service account. */
    passwordHash: text('password_hash'),
    /** Every token names the version it was made at; raising it revokes them all. */
    tokenVersion: integer('token_version').notNull().default(0),
    /** The change that gave it the name it has, unless that is its first: ETags of what shows the name say so. */
    renamedBy: uuid('renamed_by'),
    /** The project that a service account is of, and goes with. */
    projectId: uuid('project_id'),
    /** The account that created a service account; null where that is not known. */
    createdBy: uuid('created_by'),
    /** The last event of a service account, unless it is from before there were such events. */
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    index('users_project')
      .on(t.projectId, t.id)
      .where(sql`project_id is not null`),
  ],
)

/** Tokens that programs send: only the digest of each is kept. One holds as long as its account's token version stays. */
export const apiTokens = pgTable(
  'api_tokens',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    version: integer('version').notNull(),
    /** Of an account's tokens at a version each has another, so that there are no more than slots. */
    slot: integer('slot').notNull(),
    /** SHA-256, as 64 hexadecimal digits. */
    digest: text('digest').notNull().unique(),
    name: text('name').notNull(),
    /** With blanks between. */
    scopes: text('scopes').notNull(),
    /** The ids of the only projects that there are for it, with blanks between; null for all of its account's. */
    projects: text('projects'),
    expiresAt: instant('expires_at').notNull(),
    /** Null where that is not known. */
    createdBy: uuid('created_by'),
    /** The last event of a service account's token, unless it is from before there were such events. */
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [unique('api_tokens_slot').on(t.userId, t.version, t.slot), index('api_tokens_age').on(t.expiresAt)],
)

/** One row: the last change of any name, or end of an account. They change what projects show, and not their versions. */
export const people = pgTable('people', {
  one: boolean('one').primaryKey().default(true),
  changeId: uuid('change_id').notNull(),
})

/** Tokens given back before their time; a row may go once its token would have expired anyway. */
export const revokedTokens = pgTable(
  'revoked_tokens',
  { jti: uuid('jti').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (t) => [index('revoked_tokens_age').on(t.expiresAt)],
)

/** The purpose and the expiry of a mail's token. No column holds the token: it is computed from the id and the service's secret. */
export const mailTokens = pgTable(
  'mail_tokens',
  {
    /** Also the id of the job that sends the mail. */
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    purpose: text('purpose').$type<'verify' | 'reset'>().notNull(),
    /** The address that the mail was sent to. */
    email: text('email').notNull(),
    /** The account's token version at that time: a token for another version has expired. */
    version: integer('version').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (t) => [index('mail_tokens_account').on(t.userId), index('mail_tokens_age').on(t.expiresAt)],
)
