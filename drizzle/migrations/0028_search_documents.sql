CREATE TABLE "search_cursors" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"event_id" uuid NOT NULL,
	"fill" jsonb
);
--> statement-breakpoint
CREATE TABLE "search_documents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"task_id" uuid,
	"at" timestamp(3) with time zone NOT NULL,
	"event_id" uuid NOT NULL,
	"title" text,
	"doc" "tsvector"
);
--> statement-breakpoint
CREATE INDEX "search_cursors_filling" ON "search_cursors" USING btree ("project_id") WHERE fill is not null;--> statement-breakpoint
CREATE INDEX "search_documents_newest" ON "search_documents" USING btree ("project_id","at","id");--> statement-breakpoint
CREATE INDEX "search_documents_task" ON "search_documents" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "search_documents_deleted" ON "search_documents" USING btree ("at") WHERE doc is null;
--> statement-breakpoint
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'btree_gin') THEN
    CREATE INDEX "search_documents_words" ON "search_documents" USING gin ("project_id", "doc") WITH (gin_pending_list_limit = 16384);
  ELSE
    CREATE INDEX "search_documents_words" ON "search_documents" USING gin ("doc") WITH (gin_pending_list_limit = 16384);
  END IF;
END $$;
