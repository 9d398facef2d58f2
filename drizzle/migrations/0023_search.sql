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
CREATE INDEX "search_newest" ON "search" USING btree ("project_id","at","id");--> statement-breakpoint
CREATE INDEX "search_task" ON "search" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "search_positions_filling" ON "search_positions" USING btree ("project_id") WHERE fill is not null;--> statement-breakpoint
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
