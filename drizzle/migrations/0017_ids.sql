CREATE TABLE "gone_projects" (
	"project_id" uuid PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "events_made" ON "events" USING btree ("entity_id") WHERE entity in ('subtask', 'comment') and before is null;