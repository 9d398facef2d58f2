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
ALTER TABLE "tasks" ADD COLUMN "label_ids" uuid[];--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "blocked_by_ids" uuid[];--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "fields" jsonb;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "position" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "claimed_by" uuid;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "claimed_until" timestamp(3) with time zone;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "claim_seq" double precision;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "remind_at" timestamp(3) with time zone;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "due_after" timestamp(3) with time zone DEFAULT now();--> statement-breakpoint
CREATE INDEX "labels_project" ON "labels" USING btree ("project_id","id","created_at");--> statement-breakpoint
CREATE INDEX "task_fields_project" ON "task_fields" USING btree ("project_id","id","created_at");--> statement-breakpoint
CREATE INDEX "task_views_project" ON "task_views" USING btree ("project_id","id","created_at");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_open" ON "tasks" USING btree ("project_id","priority",(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")) WHERE status <> 'DONE' and claimed_by is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_done" ON "tasks" USING btree ("project_id",(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")) WHERE status = 'DONE' and claimed_by is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_claimed" ON "tasks" USING btree ("project_id",(coalesce(position, 'j' || lpad(number::text, 10, '0')) collate "C")) WHERE claimed_by is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_claim_end" ON "tasks" USING btree ("claimed_until","project_id","id") WHERE claimed_by is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_external" ON "tasks" USING btree ("project_id","external_id") WHERE external_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_blockers" ON "tasks" USING gin ("blocked_by_ids") WHERE blocked_by_ids is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_reminder" ON "tasks" USING btree ("remind_at","project_id","id") WHERE remind_at is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_due_event" ON "tasks" USING btree ("due_date","project_id","id") WHERE status <> 'DONE' and due_date > coalesce(due_after, '-infinity');