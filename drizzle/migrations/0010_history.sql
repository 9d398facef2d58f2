ALTER TABLE "events" ADD COLUMN "undoes" bigint;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "events_task" ON "events" USING btree ("task_id","id") WHERE task_id is not null;