CREATE TABLE "comments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"task_id" uuid NOT NULL,
	"author_id" uuid NOT NULL,
	"text" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL,
	"imported_author" text
);
--> statement-breakpoint
CREATE TABLE "events" (
	"project_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"id" uuid NOT NULL,
	"type" text NOT NULL,
	"entity" text NOT NULL,
	"entity_id" uuid NOT NULL,
	"actor_id" uuid NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"before" jsonb,
	"after" jsonb,
	"task_id" uuid,
	"batch" bigint,
	"undoes" bigint,
	"told" jsonb,
	CONSTRAINT "events_project_id_seq_pk" PRIMARY KEY("project_id","seq")
);
--> statement-breakpoint
CREATE TABLE "members" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL,
	CONSTRAINT "members_once" UNIQUE("project_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid,
	"name" text NOT NULL,
	"data" jsonb NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"error" text,
	"parked_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_id" uuid NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"created_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "streams" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"version" bigint NOT NULL,
	"last_number" integer NOT NULL,
	"last_event_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "subtasks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"task_id" uuid NOT NULL,
	"title" text NOT NULL,
	"completed" boolean NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"title" text NOT NULL,
	"description" text,
	"status" text NOT NULL,
	"priority" text NOT NULL,
	"due_date" timestamp(3) with time zone,
	"assignee_id" uuid,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL,
	"label_ids" uuid[],
	"blocked_by_ids" uuid[],
	"fields" jsonb,
	"external_id" text,
	"position" text,
	"claimed_by" uuid,
	"claimed_until" timestamp(3) with time zone,
	"claim_seq" double precision,
	"remind_at" timestamp(3) with time zone,
	"due_after" timestamp(3) with time zone DEFAULT now(),
	"imported_author" text
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"password_hash" text,
	"created_at" timestamp(3) with time zone NOT NULL,
	"token_version" integer DEFAULT 0 NOT NULL,
	"renamed_by" uuid,
	"project_id" uuid,
	"email_verified_at" timestamp(3) with time zone,
	"created_by" uuid,
	"event_id" uuid,
	CONSTRAINT "users_email_unique" UNIQUE("email")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"scope" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"status" integer NOT NULL,
	"body" text NOT NULL,
	"etag" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_scope_key_pk" PRIMARY KEY("scope","key")
);
--> statement-breakpoint
CREATE TABLE "revoked_tokens" (
	"jti" uuid PRIMARY KEY NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "people" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"change_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"slot" integer NOT NULL,
	"digest" text NOT NULL,
	"name" text NOT NULL,
	"scopes" text NOT NULL,
	"projects" text,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"last_used_at" timestamp(3) with time zone,
	"created_by" uuid,
	"event_id" uuid,
	CONSTRAINT "api_tokens_digest_unique" UNIQUE("digest"),
	CONSTRAINT "api_tokens_slot" UNIQUE("user_id","version","slot")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"webhook_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"delivery_id" uuid NOT NULL,
	"type" text NOT NULL,
	"first_seq" bigint,
	"last_seq" bigint,
	"events" integer NOT NULL,
	"attempt" integer NOT NULL,
	"status" integer,
	"error" text,
	"answer" text NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	CONSTRAINT "webhook_deliveries_webhook_id_id_pk" PRIMARY KEY("webhook_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"slot" integer NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"url" text NOT NULL,
	"types" text,
	"max_events" integer NOT NULL,
	"secret" text NOT NULL,
	"former_secret" text,
	"former_until" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone NOT NULL,
	"disabled_at" timestamp(3) with time zone,
	"disabled_reason" text,
	"cursor" bigint NOT NULL,
	"delivery_id" uuid,
	"head" bigint,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp(3) with time zone,
	"next_at" timestamp(3) with time zone,
	"lease_by" uuid,
	"lease_until" timestamp(3) with time zone,
	"created_by" uuid,
	"event_id" uuid,
	CONSTRAINT "webhooks_slot" UNIQUE("project_id","slot")
);
--> statement-breakpoint
CREATE TABLE "gone_projects" (
	"project_id" uuid PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mail_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"purpose" text NOT NULL,
	"email" text NOT NULL,
	"version" integer NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"used_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "labels" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"name" text NOT NULL,
	"color" text,
	"created_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "task_fields" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"key" text NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"options" jsonb,
	"created_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "task_views" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"name" text NOT NULL,
	"query" jsonb NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "search" (
	"project_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" smallint NOT NULL,
	"task_id" uuid,
	"at" timestamp(3) with time zone NOT NULL,
	"doc" "tsvector" NOT NULL,
	CONSTRAINT "search_project_id_id_pk" PRIMARY KEY("project_id","id")
);
--> statement-breakpoint
CREATE TABLE "search_positions" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"event_id" uuid NOT NULL,
	"fill" jsonb
);
--> statement-breakpoint
CREATE TABLE "search_unmerged" (
	"slot" smallint PRIMARY KEY NOT NULL,
	"rows" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "search_words" (
	"word" text PRIMARY KEY NOT NULL,
	"unused_since" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "import_batches" (
	"import_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "import_batches_import_id_seq_pk" PRIMARY KEY("import_id","seq")
);
--> statement-breakpoint
CREATE TABLE "import_chunks" (
	"import_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"bytes" bytea NOT NULL,
	CONSTRAINT "import_chunks_import_id_n_pk" PRIMARY KEY("import_id","n")
);
--> statement-breakpoint
CREATE TABLE "import_items" (
	"import_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"n" integer NOT NULL,
	"row" integer NOT NULL,
	"key" text NOT NULL,
	"parent" text,
	"id" uuid NOT NULL,
	"item" jsonb NOT NULL,
	"outcome" text,
	CONSTRAINT "import_items_import_id_kind_n_pk" PRIMARY KEY("import_id","kind","n")
);
--> statement-breakpoint
CREATE TABLE "import_lines" (
	"import_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"row" integer,
	"external_id" text,
	"outcome" text NOT NULL,
	"message" text NOT NULL,
	CONSTRAINT "import_lines_import_id_n_pk" PRIMARY KEY("import_id","n")
);
--> statement-breakpoint
CREATE TABLE "imports" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"caller" jsonb NOT NULL,
	"source" text NOT NULL,
	"dry_run" boolean NOT NULL,
	"mapping" jsonb NOT NULL,
	"state" text NOT NULL,
	"cursor" jsonb,
	"progress" real DEFAULT 0 NOT NULL,
	"read" integer DEFAULT 0 NOT NULL,
	"created" integer DEFAULT 0 NOT NULL,
	"updated" integer DEFAULT 0 NOT NULL,
	"unchanged" integer DEFAULT 0 NOT NULL,
	"rejected" integer DEFAULT 0 NOT NULL,
	"error" text,
	"undo_state" text,
	"undone" integer DEFAULT 0 NOT NULL,
	"kept" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "revoked_tokens_age" ON "revoked_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "tasks_assignee_due" ON "tasks" USING btree ("project_id","assignee_id","status","priority",coalesce(due_date, 'infinity'),"id","created_at","number") WHERE assignee_id is not null;--> statement-breakpoint
CREATE INDEX "comments_task" ON "comments" USING btree ("task_id","id","created_at");--> statement-breakpoint
CREATE INDEX "members_user" ON "members" USING btree ("user_id","project_id","created_at");--> statement-breakpoint
CREATE INDEX "projects_owner" ON "projects" USING btree ("owner_id","id","created_at");--> statement-breakpoint
CREATE INDEX "subtasks_task" ON "subtasks" USING btree ("task_id","id","created_at");--> statement-breakpoint
CREATE INDEX "tasks_created" ON "tasks" USING btree ("project_id","id","number");--> statement-breakpoint
CREATE INDEX "tasks_status" ON "tasks" USING btree ("project_id","status","priority","id","created_at");--> statement-breakpoint
CREATE INDEX "tasks_assignee" ON "tasks" USING btree ("project_id","assignee_id","status","priority","id","created_at","number") WHERE assignee_id is not null;--> statement-breakpoint
CREATE INDEX "tasks_due" ON "tasks" USING btree ("project_id","status","priority",coalesce(due_date, 'infinity'),"id","created_at");--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("created_at","id") WHERE parked_at is null;--> statement-breakpoint
CREATE INDEX "events_task" ON "events" USING btree ("task_id","id") WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX "events_left" ON "events" USING btree ("task_id","project_id") WHERE type = 'task.moved_out';--> statement-breakpoint
CREATE INDEX "api_tokens_age" ON "api_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "events_unassigned" ON "events" USING btree ("project_id",(before ->> 'assigneeId'),"seq") WHERE type = 'task.unassigned';--> statement-breakpoint
CREATE INDEX "users_project" ON "users" USING btree ("project_id","id") WHERE project_id is not null;--> statement-breakpoint
CREATE INDEX "events_removed" ON "events" USING btree ("project_id","entity_id","seq") WHERE type = 'member.removed';--> statement-breakpoint
CREATE INDEX "events_made" ON "events" USING btree ("entity_id") WHERE entity in ('subtask', 'comment') and before is null;--> statement-breakpoint
CREATE INDEX "mail_tokens_account" ON "mail_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "mail_tokens_age" ON "mail_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "events_entity" ON "events" USING btree ("entity_id","seq") WHERE entity not in ('project', 'member', 'task', 'subtask', 'comment', 'webhook', 'service_account', 'token');--> statement-breakpoint
CREATE INDEX "labels_project" ON "labels" USING btree ("project_id","id","created_at");--> statement-breakpoint
CREATE INDEX "task_fields_project" ON "task_fields" USING btree ("project_id","id","created_at");--> statement-breakpoint
CREATE INDEX "task_views_project" ON "task_views" USING btree ("project_id","id","created_at");--> statement-breakpoint
CREATE INDEX "tasks_open" ON "tasks" USING btree ("project_id","priority",(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")) WHERE status <> 'DONE' and claimed_by is null;--> statement-breakpoint
CREATE INDEX "tasks_done" ON "tasks" USING btree ("project_id",(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")) WHERE status = 'DONE' and claimed_by is null;--> statement-breakpoint
CREATE INDEX "tasks_claimed" ON "tasks" USING btree ("project_id",(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")) WHERE claimed_by is not null;--> statement-breakpoint
CREATE INDEX "tasks_claim_end" ON "tasks" USING btree ("claimed_until","project_id","id") WHERE claimed_by is not null;--> statement-breakpoint
CREATE INDEX "tasks_external" ON "tasks" USING btree ("project_id","external_id") WHERE external_id is not null;--> statement-breakpoint
CREATE INDEX "tasks_blockers" ON "tasks" USING gin ("blocked_by_ids") WHERE blocked_by_ids is not null;--> statement-breakpoint
CREATE INDEX "tasks_reminder" ON "tasks" USING btree ("remind_at","project_id","id") WHERE remind_at is not null;--> statement-breakpoint
CREATE INDEX "tasks_due_event" ON "tasks" USING btree ("due_date","project_id","id") WHERE status <> 'DONE' and due_date > coalesce(due_after, '-infinity');--> statement-breakpoint
CREATE INDEX "search_newest" ON "search" USING btree ("project_id","at","id");--> statement-breakpoint
CREATE INDEX "search_task" ON "search" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "search_positions_filling" ON "search_positions" USING btree ("project_id") WHERE fill is not null;--> statement-breakpoint
CREATE INDEX "import_items_key" ON "import_items" USING btree ("import_id","kind","key","n");--> statement-breakpoint
CREATE INDEX "import_items_parent" ON "import_items" USING btree ("import_id","parent") WHERE parent is not null;--> statement-breakpoint
CREATE INDEX "imports_project" ON "imports" USING btree ("project_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "imports_active" ON "imports" USING btree ("project_id") WHERE state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running');--> statement-breakpoint
DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS btree_gin; EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN NULL; END $$;--> statement-breakpoint
DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS pg_trgm; EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN NULL; END $$;--> statement-breakpoint
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'btree_gin') THEN
    CREATE INDEX "search_gin" ON "search" USING gin ("project_id", "doc") WITH (gin_pending_list_limit = 131072);
  ELSE
    CREATE INDEX "search_gin" ON "search" USING gin ("doc") WITH (gin_pending_list_limit = 131072);
  END IF;
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX "search_words_similar" ON "search_words" USING gin ("word" gin_trgm_ops);
  END IF;
END $$;
