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
	CONSTRAINT "api_tokens_digest_unique" UNIQUE("digest"),
	CONSTRAINT "api_tokens_slot" UNIQUE("user_id","version","slot")
);
--> statement-breakpoint
CREATE INDEX "api_tokens_age" ON "api_tokens" USING btree ("expires_at");