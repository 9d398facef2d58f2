ALTER TABLE "idempotency_keys" ALTER COLUMN "created_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "outbox" ALTER COLUMN "created_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "last_event_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL;--> statement-breakpoint
UPDATE "streams" s SET "last_event_id" = e."id" FROM "events" e WHERE e."project_id" = s."project_id" AND e."seq" = s."version";
