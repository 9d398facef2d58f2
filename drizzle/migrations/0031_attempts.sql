ALTER TABLE "tasks" ADD COLUMN "attempts" integer;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "tasks_attempts" ON "tasks" USING btree ("project_id","attempts") WHERE attempts > 0;