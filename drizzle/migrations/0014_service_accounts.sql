ALTER TABLE "users" ALTER COLUMN "password_hash" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "project_id" uuid;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "users_project" ON "users" USING btree ("project_id","id") WHERE project_id is not null;