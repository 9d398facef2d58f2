DROP INDEX "outbox_age";--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "attempts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "error" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "parked_at" timestamp(3) with time zone;--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("created_at","id") WHERE parked_at is null;