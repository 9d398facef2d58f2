ALTER TABLE "api_tokens" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "event_id" uuid;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "event_id" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "event_id" uuid;