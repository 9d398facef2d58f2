// Generated from the OpenAPI document by `npm run types`. Do not edit.
export interface components {
  schemas: {
    Account: {
      /** @description The user */
      id: string
      /** @description The full name */
      name: string
      /** @description The address */
      email: string
      /** @description Whether the user has verified the address through a mail */
      emailVerified: boolean
    }
    Actor: {
      /** @description The user who made the change */
      id: string
      /** @description The current name; null after the account is deleted */
      name: string | null
    }
    ApiToken: {
      /** @description The id of the token, used in its path */
      id: string
      /** @description The purpose of the token */
      name: string
      /** @description A list of read, write, admin: each includes the scopes before it */
      scopes: components['schemas']['Scope'][]
      /** @description A list of 1 to 100 project ids, or null: the token gives access only to these projects */
      projects: string[] | null
      /** @description When the token expires */
      expiresAt: string
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When the token was created */
      createdAt: string
      /** @description When the token was last used, to the minute; null if the token was never used */
      lastUsedAt: string | null
    }
    /**
     * @description One of description
     * @enum {string}
     */
    AppendField: 'description'
    /** @description Read-only fields are ignored: id, projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    AppendTask: {
      field: components['schemas']['AppendField']
      /** @description A text of 1 to 20000 characters */
      text: string
      /** @description The task */
      readonly id?: unknown
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description One of LOW, MEDIUM, HIGH */
      readonly priority?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The user to whom the task is assigned, or null */
      readonly assigneeId?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    Archive: string
    Author: {
      /** @description The user */
      id: string
      /** @description The full name */
      name: string
    }
    Batch: {
      /** @description The project's version after the batch */
      version: number
      /** @description One result for each operation, in order */
      results: (
        | components['schemas']['BatchResult']
        | components['schemas']['Project']
        | components['schemas']['Member']
        | components['schemas']['Departure']
        | components['schemas']['Task']
        | components['schemas']['Subtask']
        | components['schemas']['Comment']
        | components['schemas']['Label']
        | components['schemas']['Field']
        | components['schemas']['View']
      )[]
      /** @description The `batch` of the events, which an undo takes. Missing if nothing changed */
      batch?: number
    }
    BatchProject: {
      /** @description A whole number, the version that the project must have: if not, 412 is returned */
      ifVersion?: number
      /** @description An object with taskId and seq, a claim that must still hold its task, as in Docket-If-Claim: if not, 412 is returned */
      ifClaim?: {
        /** @description The id of a task */
        taskId: string
        /** @description A whole number, the `seq` of its claim */
        seq: number
      }
      /** @description A list of 1 to 500 operations */
      operations: (
        | components['schemas']['ProjectUpdateOperation']
        | components['schemas']['MemberInviteOperation']
        | components['schemas']['MemberSetRoleOperation']
        | components['schemas']['MemberRemoveOperation']
        | components['schemas']['TaskCreateOperation']
        | components['schemas']['TaskUpdateOperation']
        | components['schemas']['TaskUpsertOperation']
        | components['schemas']['TaskAppendOperation']
        | components['schemas']['TaskDeleteOperation']
        | components['schemas']['SubtaskCreateOperation']
        | components['schemas']['SubtaskToggleOperation']
        | components['schemas']['SubtaskUpdateOperation']
        | components['schemas']['SubtaskDeleteOperation']
        | components['schemas']['CommentCreateOperation']
        | components['schemas']['CommentUpdateOperation']
        | components['schemas']['CommentDeleteOperation']
        | components['schemas']['LabelCreateOperation']
        | components['schemas']['LabelUpdateOperation']
        | components['schemas']['LabelDeleteOperation']
        | components['schemas']['FieldCreateOperation']
        | components['schemas']['FieldUpdateOperation']
        | components['schemas']['FieldDeleteOperation']
        | components['schemas']['ViewCreateOperation']
        | components['schemas']['ViewUpdateOperation']
        | components['schemas']['ViewDeleteOperation']
        | components['schemas']['TaskClaimOperation']
        | components['schemas']['TaskReleaseOperation']
        | components['schemas']['TaskClaimNextOperation']
      )[]
    }
    BatchResult: {
      /** @description The id of the resource */
      id: string
      /** @description The new ETag of the resource; null if it was deleted */
      etag: string | null
      /** @description The number of a task */
      number?: number
    }
    /**
     * @description One of minimal, full: `full` returns whole resources in place of ids and ETags
     * @enum {string}
     */
    BatchReturn: 'minimal' | 'full'
    ChangedUser: {
      /** @description A JWT for the Authorization header */
      access_token?: string
      /** @description The user */
      id: string
      /** @description The full name */
      name: string
      /** @description The address */
      email: string
      /** @description Whether the user has verified the address through a mail */
      emailVerified: boolean
    }
    Claim: {
      by: {
        /** @description The account that holds the claim */
        id: string
        /** @description The current name; null after the account is deleted */
        name: string | null
      }
      /** @description When the claim ends, unless its holder extends it */
      until: string
      /** @description The seq of the event that began the claim: the fencing number for Docket-If-Claim */
      seq: number
    }
    ClaimNextTask: {
      /** @description A whole number from 10 to 86400: how many seconds the claim lasts, unless its holder extends it */
      leaseSeconds: number
      /** @description A list of at most 50 ids of labels, without duplicates: the task has all of these labels */
      labels?: string[]
      /** @description A list of at most 50 ids of labels, without duplicates: the task has at least one of these labels */
      anyLabel?: string[]
      priority?: components['schemas']['TaskPriority']
      /** @description The id of a user */
      assigneeId?: string
      /** @description A whole number from 1 to 2147483647: skips the tasks that have had this many attempts */
      maxAttempts?: number
      /** @description A whole number from 1 to 25: how many seconds the request waits until a task is ready */
      wait?: number
    }
    /** @description Read-only fields are ignored: id, projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    ClaimTask: {
      /** @description A whole number from 10 to 86400: how many seconds the claim lasts, unless its holder extends it */
      leaseSeconds: number
      /** @description The task */
      readonly id?: unknown
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description One of LOW, MEDIUM, HIGH */
      readonly priority?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The user to whom the task is assigned, or null */
      readonly assigneeId?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    CommaSeparatedValues: string
    Comment: {
      /** @description The comment */
      id: string
      /** @description The text of the comment */
      text: string
      /** @description The user who wrote the comment */
      authorId: string
      /** @description The author; null after the deletion of a user, not of a service account */
      author: components['schemas']['Author'] | null
      /** @description Whether `author` is null */
      authorRemoved: boolean
      /** @description The task that has the comment */
      taskId: string
      /** @description When the comment was created */
      createdAt: string
      /** @description When the comment was last edited */
      updatedAt: string
      /** @description The name of the author in the system that the comment was imported from, or null */
      importedAuthor: string | null
    }
    /** @description Read-only fields are ignored: authorId, author, authorRemoved, createdAt, updatedAt, importedAuthor */
    CommentCreateOperation: {
      /**
       * @description comment.create (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'comment.create'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description The id of a task, or the `#name` of an earlier operation */
      taskId: string
      /** @description A text of 1 to 20000 characters */
      text: string
      /** @description The user who wrote the comment */
      readonly authorId?: unknown
      /** @description The author; null after the deletion of a user, not of a service account */
      readonly author?: unknown
      /** @description Whether `author` is null */
      readonly authorRemoved?: unknown
      /** @description When the comment was created */
      readonly createdAt?: unknown
      /** @description When the comment was last edited */
      readonly updatedAt?: unknown
      /** @description The name of the author in the system that the comment was imported from, or null */
      readonly importedAuthor?: unknown
    }
    CommentDeleteOperation: {
      /**
       * @description comment.delete (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'comment.delete'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The comment */
        id?: string
        /** @description The text of the comment */
        text?: string
        /** @description The user who wrote the comment */
        authorId?: string
        /** @description The author; null after the deletion of a user, not of a service account */
        author?: components['schemas']['Author'] | null
        /** @description Whether `author` is null */
        authorRemoved?: boolean
        /** @description The task that has the comment */
        taskId?: string
        /** @description When the comment was created */
        createdAt?: string
        /** @description When the comment was last edited */
        updatedAt?: string
        /** @description The name of the author in the system that the comment was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a comment, or the `#name` of an earlier operation */
      id: string
    }
    CommentFields: {
      /** @description The comment */
      id?: string
      /** @description The text of the comment */
      text?: string
      /** @description The user who wrote the comment */
      authorId?: string
      /** @description The author; null after the deletion of a user, not of a service account */
      author?: components['schemas']['Author'] | null
      /** @description Whether `author` is null */
      authorRemoved?: boolean
      /** @description The task that has the comment */
      taskId?: string
      /** @description When the comment was created */
      createdAt?: string
      /** @description When the comment was last edited */
      updatedAt?: string
      /** @description The name of the author in the system that the comment was imported from, or null */
      importedAuthor?: string | null
    }
    /** @description Read-only fields are ignored: authorId, author, authorRemoved, taskId, createdAt, updatedAt, importedAuthor */
    CommentUpdateOperation: {
      /**
       * @description comment.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'comment.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The comment */
        id?: string
        /** @description The text of the comment */
        text?: string
        /** @description The user who wrote the comment */
        authorId?: string
        /** @description The author; null after the deletion of a user, not of a service account */
        author?: components['schemas']['Author'] | null
        /** @description Whether `author` is null */
        authorRemoved?: boolean
        /** @description The task that has the comment */
        taskId?: string
        /** @description When the comment was created */
        createdAt?: string
        /** @description When the comment was last edited */
        updatedAt?: string
        /** @description The name of the author in the system that the comment was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a comment, or the `#name` of an earlier operation */
      id: string
      /** @description A text of 1 to 20000 characters */
      text: string
      /** @description The user who wrote the comment */
      readonly authorId?: unknown
      /** @description The author; null after the deletion of a user, not of a service account */
      readonly author?: unknown
      /** @description Whether `author` is null */
      readonly authorRemoved?: unknown
      /** @description The task that has the comment */
      readonly taskId?: unknown
      /** @description When the comment was created */
      readonly createdAt?: unknown
      /** @description When the comment was last edited */
      readonly updatedAt?: unknown
      /** @description The name of the author in the system that the comment was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: authorId, author, authorRemoved, taskId, createdAt, updatedAt, importedAuthor */
    CreateComment: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 20000 characters */
      text: string
      /** @description The user who wrote the comment */
      readonly authorId?: unknown
      /** @description The author; null after the deletion of a user, not of a service account */
      readonly author?: unknown
      /** @description Whether `author` is null */
      readonly authorRemoved?: unknown
      /** @description The task that has the comment */
      readonly taskId?: unknown
      /** @description When the comment was created */
      readonly createdAt?: unknown
      /** @description When the comment was last edited */
      readonly updatedAt?: unknown
      /** @description The name of the author in the system that the comment was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    CreateField: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 40 characters from a-z, 0-9 and _, which begins with a letter */
      key: string
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name: string
      type: components['schemas']['FieldType']
      /** @description A list of 1 to 100 different texts of 1 to 100 characters, or null */
      options?: string[] | null
      /** @description The project that has the field */
      readonly projectId?: unknown
      /** @description When the field was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    CreateLabel: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 50 characters, without control or bidirectional-override characters */
      name: string
      /** @description A color in the form #rrggbb, or null */
      color?: string | null
      /** @description The project that has the label */
      readonly projectId?: unknown
      /** @description When the label was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: ownerId, owner, createdAt */
    CreateProject: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name: string
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      textEdits?: components['schemas']['TextEdits']
      /** @description The user who created the project */
      readonly ownerId?: unknown
      /** @description The owner; null after the account is deleted */
      readonly owner?: unknown
      /** @description When the project was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, projectId, memberId, createdBy, createdAt */
    CreateServiceAccount: {
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name: string
      role?: components['schemas']['Role']
      /** @description The service account, with this id in tasks, comments and events */
      readonly id?: unknown
      /** @description The project */
      readonly projectId?: unknown
      /** @description The membership, used in member paths */
      readonly memberId?: unknown
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      readonly createdBy?: unknown
      /** @description When the service account was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: completed, taskId, createdAt */
    CreateSubtask: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title: string
      /** @description Whether the subtask is completed */
      readonly completed?: unknown
      /** @description The task that has the subtask */
      readonly taskId?: unknown
      /** @description When the subtask was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: number, createdAt, updatedAt, position, claim, attempts, importedAuthor */
    CreateTask: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title: string
      /** @description The id of a project */
      projectId: string
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      dueDate?: string | null
      /** @description The id of a user, or null */
      assigneeId?: string | null
      /** @description A text of 1 to 200 characters, without control characters, or null */
      externalId?: string | null
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      remindAt?: string | null
      /** @description A list of at most 50 ids of labels, without duplicates */
      labelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates */
      blockedByIds?: string[]
      /** @description An object with at most 50 values: by the keys of the project's fields. Absent keys do not change; null removes a value */
      fields?: {
        [key: string]: string | number | boolean | null
      }
      /** @description The id of a task: places the task directly before this task */
      before?: string
      /** @description The id of a task: places the task directly after this task */
      after?: string
      place?: components['schemas']['TaskPlace']
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: id, token, createdBy, createdAt, lastUsedAt */
    CreateToken: {
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name: string
      /** @description A list of read, write, admin: each includes the scopes before it */
      scopes: components['schemas']['Scope'][]
      /** @description A list of 1 to 100 project ids, or null: the token gives access only to these projects */
      projects?: string[] | null
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), at most one year from now */
      expiresAt: string
      /** @description A text, the password, required when the sign-in is older than 5 minutes */
      password?: string
      /** @description The id of the token, used in its path */
      readonly id?: unknown
      /** @description The token for the Authorization header; only this response shows it */
      readonly token?: unknown
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      readonly createdBy?: unknown
      /** @description When the token was created */
      readonly createdAt?: unknown
      /** @description When the token was last used, to the minute; null if the token was never used */
      readonly lastUsedAt?: unknown
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    CreateView: {
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name: string
      /** @description An object with at most 20 parameters of the list of tasks: each value is a text. Without projectId, cursor and asOf */
      query: {
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueAfter?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueBefore?: string
        /** @description The id of a user, or "me" */
        assigneeId?: string
        /** @description A text of 1 to 200 characters: lists the task with this external id. Needs projectId */
        externalId?: string
        /** @description The words of a search, as in GET /search. Comments and subtasks count as text of their task */
        q?: string
        /** @description The id of a task: lists the tasks that it blocks */
        blocks?: string
        /** @description The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now */
        claimedBy?: string
        /** @description A whole number from 0 to undefined as a text */
        minAttempts?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with all of these labels */
        labels?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with at least one of these labels */
        anyLabel?: string
        /**
         * @description true: lists the tasks without labels
         * @enum {string}
         */
        noLabel?: 'true'
        /**
         * @description true: lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted
         * @enum {string}
         */
        ready?: 'true'
        sort?: components['schemas']['TaskSort']
        /** @description A whole number from 1 to 200 as a text */
        limit?: string
        /** @description A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId */
        [key: `field.${string}`]: undefined | string
      }
      /** @description The project whose tasks the view lists */
      readonly projectId?: unknown
      /** @description When the view was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, secret, projectId, disabledReason, cursor, failures, nextAttemptAt, createdBy, createdAt */
    CreateWebhook: {
      /** @description A URL that begins with https:// and resolves to public addresses */
      url: string
      /** @description A list of event types, or null: only events of these types are sent */
      types?: components['schemas']['EventType'][] | null
      /** @description A whole number from 1 to 100: the most events in one delivery */
      maxEvents?: number
      /** @description The id of an account, or `me`, or null: leaves out the events of this account */
      exceptActorId?: string | null
      /** @description true or false: whether events are sent */
      enabled?: boolean
      /** @description The id of the webhook, used in its paths */
      readonly id?: unknown
      /** @description The key that signs deliveries; only this response shows it */
      readonly secret?: unknown
      /** @description The project */
      readonly projectId?: unknown
      /** @description Why the service disabled the webhook; otherwise null */
      readonly disabledReason?: unknown
      /** @description Every event up to this seq is delivered */
      readonly cursor?: unknown
      /** @description Failed attempts since the last success */
      readonly failures?: unknown
      /** @description The time of the next attempt after a failure; otherwise null */
      readonly nextAttemptAt?: unknown
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      readonly createdBy?: unknown
      /** @description When the webhook was created */
      readonly createdAt?: unknown
    }
    /** @description At most 100 webhooks, service accounts and tokens each */
    Creations: {
      webhooks: components['schemas']['WebhookSummary'][]
      serviceAccounts: components['schemas']['ServiceAccountSummary'][]
      tokens: components['schemas']['TokenSummary'][]
    }
    /** @default {} */
    DeleteMe: {
      /** @description A text, the password, required when the sign-in is older than 5 minutes */
      password?: string
    }
    Departure: {
      /** @description The result */
      message: string
      stillWorking: components['schemas']['Creations']
      revoked: components['schemas']['Creations']
    }
    /**
     * @description One of true, false: `true` returns the result that the request would have, and changes nothing
     * @enum {string}
     */
    DryRun: 'true' | 'false'
    /**
     * @description One of project, member, task, subtask, comment, label, field, view, webhook, service_account, token
     * @enum {string}
     */
    Entity:
      | 'project'
      | 'member'
      | 'task'
      | 'subtask'
      | 'comment'
      | 'label'
      | 'field'
      | 'view'
      | 'webhook'
      | 'service_account'
      | 'token'
    Error: {
      /** @description The HTTP status */
      statusCode: number
      /** @description A description of the error for people */
      message: string
      /** @description The HTTP reason phrase */
      error: string
    }
    Event: {
      /** @description The number in the project: 1, 2, 3 … */
      seq: number
      /** @description The event */
      id: string
      type: components['schemas']['EventType']
      entity: components['schemas']['Entity']
      /** @description The changed entity */
      entityId: string
      /** @description The task that changed, or whose child changed; null for other entities */
      taskId: string | null
      /** @description If one commit has several events: the seq of the first event; otherwise null */
      batch: number | null
      /** @description If the event is part of an undo: the seq of the event that is undone */
      undoes?: number
      /** @description Only in `task.released`: true if the claim was released with `failed` */
      failed?: boolean
      /** @description Only in `task.released`: the reason of the release, or null */
      reason?: string | null
      actor: components['schemas']['Actor']
      /** @description When the change was committed */
      at: string
      /** @description The entity before the change; null if it was created; in an update only changed fields */
      before:
        | components['schemas']['ProjectFields']
        | components['schemas']['MemberFields']
        | components['schemas']['TaskFields']
        | components['schemas']['SubtaskFields']
        | components['schemas']['CommentFields']
        | components['schemas']['LabelFields']
        | components['schemas']['FieldFields']
        | components['schemas']['ViewFields']
        | components['schemas']['WebhookFields']
        | components['schemas']['ServiceAccountFields']
        | components['schemas']['TokenFields']
        | null
      /** @description The entity after the change; null if it was deleted; in an update only changed fields */
      after:
        | components['schemas']['ProjectFields']
        | components['schemas']['MemberFields']
        | components['schemas']['TaskFields']
        | components['schemas']['SubtaskFields']
        | components['schemas']['CommentFields']
        | components['schemas']['LabelFields']
        | components['schemas']['FieldFields']
        | components['schemas']['ViewFields']
        | components['schemas']['WebhookFields']
        | components['schemas']['ServiceAccountFields']
        | components['schemas']['TokenFields']
        | null
    }
    /** @description Server-sent events: `id` is the seq, `event` is the type, and `data` is an Event. With `snapshot`, the first events have the type `snapshot`, no `id`, and the data `{version, kind, rows}` with at most 200 rows, as lists with `asOf` show them; then follows an event of type `live` with the data `{version}` and the version as `id`. Before the service closes the stream, it sends an event of type `end`, whose `data` is an Error with the reason. While there are no events, the service sends comments to keep the connection open. */
    EventStream: string
    /**
     * @description One of project.created, project.updated, project.deleted, member.invited, member.role_set, member.removed, task.created, task.updated, task.deleted, task.moved_in, task.moved_out, task.unassigned, task.claimed, task.released, task.claim_expired, task.reminded, task.due, task.ready, subtask.created, subtask.updated, subtask.toggled, subtask.deleted, comment.created, comment.updated, comment.deleted, label.created, label.updated, label.deleted, field.created, field.updated, field.deleted, view.created, view.updated, view.deleted, webhook.created, webhook.updated, webhook.deleted, service_account.created, service_account.deleted, token.created, token.deleted
     * @enum {string}
     */
    EventType:
      | 'project.created'
      | 'project.updated'
      | 'project.deleted'
      | 'member.invited'
      | 'member.role_set'
      | 'member.removed'
      | 'task.created'
      | 'task.updated'
      | 'task.deleted'
      | 'task.moved_in'
      | 'task.moved_out'
      | 'task.unassigned'
      | 'task.claimed'
      | 'task.released'
      | 'task.claim_expired'
      | 'task.reminded'
      | 'task.due'
      | 'task.ready'
      | 'subtask.created'
      | 'subtask.updated'
      | 'subtask.toggled'
      | 'subtask.deleted'
      | 'comment.created'
      | 'comment.updated'
      | 'comment.deleted'
      | 'label.created'
      | 'label.updated'
      | 'label.deleted'
      | 'field.created'
      | 'field.updated'
      | 'field.deleted'
      | 'view.created'
      | 'view.updated'
      | 'view.deleted'
      | 'webhook.created'
      | 'webhook.updated'
      | 'webhook.deleted'
      | 'service_account.created'
      | 'service_account.deleted'
      | 'token.created'
      | 'token.deleted'
    EventsOfProjects: {
      /** @description The events of each project, in order */
      events: components['schemas']['ProjectEvent'][]
      /** @description The value of `after` for the next request: the seq of the last event of each project */
      after: {
        [key: string]: number
      }
      /** @description Requested projects that the caller cannot see */
      gone: string[]
    }
    /**
     * @description One of docket, ndjson, csv: docket is complete; ndjson has a task for each line; csv has a task for each row. Default: docket
     * @enum {string}
     */
    ExportFormat: 'docket' | 'ndjson' | 'csv'
    Field: {
      /** @description The field */
      id: string
      /** @description The project that has the field */
      projectId: string
      /** @description The key of the values in `fields` of tasks */
      key: string
      /** @description The name of the field */
      name: string
      type: components['schemas']['FieldType']
      /** @description The values of a field of the type choice, or null */
      options: string[] | null
      /** @description When the field was created */
      createdAt: string
    }
    /** @description Read-only fields are ignored: createdAt */
    FieldCreateOperation: {
      /**
       * @description field.create (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'field.create'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A text of 1 to 40 characters from a-z, 0-9 and _, which begins with a letter */
      key: string
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name: string
      type: components['schemas']['FieldType']
      /** @description A list of 1 to 100 different texts of 1 to 100 characters, or null */
      options?: string[] | null
      /** @description When the field was created */
      readonly createdAt?: unknown
    }
    FieldDeleteOperation: {
      /**
       * @description field.delete (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'field.delete'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The field */
        id?: string
        /** @description The project that has the field */
        projectId?: string
        /** @description The key of the values in `fields` of tasks */
        key?: string
        /** @description The name of the field */
        name?: string
        type?: components['schemas']['FieldType']
        /** @description The values of a field of the type choice, or null */
        options?: string[] | null
        /** @description When the field was created */
        createdAt?: string
      }
      /** @description The id of a field, or the `#name` of an earlier operation */
      id: string
    }
    FieldFields: {
      /** @description The field */
      id?: string
      /** @description The project that has the field */
      projectId?: string
      /** @description The key of the values in `fields` of tasks */
      key?: string
      /** @description The name of the field */
      name?: string
      type?: components['schemas']['FieldType']
      /** @description The values of a field of the type choice, or null */
      options?: string[] | null
      /** @description When the field was created */
      createdAt?: string
    }
    /**
     * @description One of text, number, boolean, date, choice
     * @enum {string}
     */
    FieldType: 'text' | 'number' | 'boolean' | 'date' | 'choice'
    /** @description Read-only fields are ignored: projectId, key, type, createdAt */
    FieldUpdateOperation: {
      /**
       * @description field.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'field.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The field */
        id?: string
        /** @description The project that has the field */
        projectId?: string
        /** @description The key of the values in `fields` of tasks */
        key?: string
        /** @description The name of the field */
        name?: string
        type?: components['schemas']['FieldType']
        /** @description The values of a field of the type choice, or null */
        options?: string[] | null
        /** @description When the field was created */
        createdAt?: string
      }
      /** @description The id of a field, or the `#name` of an earlier operation */
      id: string
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A list of 1 to 100 different texts of 1 to 100 characters, or null */
      options?: string[] | null
      /** @description The project that has the field */
      readonly projectId?: unknown
      /** @description The key of the values in `fields` of tasks */
      readonly key?: unknown
      /** @description One of text, number, boolean, date, choice */
      readonly type?: unknown
      /** @description When the field was created */
      readonly createdAt?: unknown
    }
    ForgotPassword: {
      /** @description An email address of at most 254 characters */
      email: string
    }
    /**
     * @description One of true, false: true adds all events; only with the format docket
     * @enum {string}
     */
    History: 'true' | 'false'
    /**
     * @description One of task, comment, project
     * @enum {string}
     */
    HitType: 'task' | 'comment' | 'project'
    Import: {
      /** @description The import */
      id: string
      /** @description The project */
      projectId: string
      source: components['schemas']['ImportSource']
      /** @description True if the import changes nothing */
      dryRun: boolean
      state: components['schemas']['ImportState']
      /** @description The part that is complete, from 0 to 1 */
      progress: number
      /** @description The numbers of tasks */
      counts: {
        /** @description Tasks read from the file */
        read: number
        /** @description Tasks created */
        created: number
        /** @description Tasks changed, or tasks with a changed subtask or comment */
        updated: number
        /** @description Tasks that did not change */
        unchanged: number
        /** @description Tasks rejected; the report has the reasons */
        rejected: number
      }
      /** @description Why the import failed, with the place in the file, or why its undo failed; otherwise null */
      error: string | null
      mapping: components['schemas']['ImportMapping']
      /** @description The undo of the import; null if the import was not undone */
      undo: {
        state: components['schemas']['ImportUndoState']
        /** @description Tasks undone */
        undone: number
        /** @description Tasks kept because somebody has changed them since */
        kept: number
      } | null
      /** @description When the upload began */
      createdAt: string
      /** @description When a worker began; null before */
      startedAt: string | null
      /** @description When the import ended; null before */
      finishedAt: string | null
    }
    /** @description The file, as it is or compressed with gzip */
    ImportFile: string
    ImportForm: {
      file: components['schemas']['ImportFile']
      source?: components['schemas']['ImportSource']
      dryRun?: components['schemas']['DryRun']
      /** @description A JSON object: how the parts of the file become fields */
      mapping?: string
    }
    ImportMapping: {
      /** @description An object of at most 2000 entries with the status for each list, section, column or status of the source. With null it becomes a label */
      statuses?: {
        [key: string]: components['schemas']['TaskStatus'] | null
      }
      /** @description An object of at most 2000 entries with the field for each column of a CSV file, such as `title`, or `field.estimate` for a custom field. With null the column is not imported */
      columns?: {
        [key: string]: string | null
      }
      /** @description An object of at most 2000 entries with the email address for each name in the file */
      people?: {
        [key: string]: string
      }
      /** @description The order of day, month and year in the dates of a CSV file: DD/MM/YYYY, MM/DD/YYYY, YYYY/MM/DD or YYYY/DD/MM, with any separators, and perhaps a time */
      dateFormat?: string
      /** @description The IANA time zone of dates without an offset, or an offset such as +02:00: UTC if it is absent */
      timeZone?: string
    }
    /**
     * @description One of created, updated, unchanged, rejected, kept: `kept` means that an undo kept the row, because somebody has changed it since
     * @enum {string}
     */
    ImportOutcome: 'created' | 'updated' | 'unchanged' | 'rejected' | 'kept'
    ImportReportLine: {
      /** @description The number of the record in the file, from 1; null for the whole file */
      row: number | null
      /** @description The external id of the task, or null */
      externalId: string | null
      outcome: components['schemas']['ImportOutcome']
      /** @description What differs from the file */
      message: string
    }
    /**
     * @description One of csv, jira, trello, linear, todoist, github, asana, planka, wekan, ticktick, deck, docket: the system that wrote the file
     * @enum {string}
     */
    ImportSource:
      | 'csv'
      | 'jira'
      | 'trello'
      | 'linear'
      | 'todoist'
      | 'github'
      | 'asana'
      | 'planka'
      | 'wekan'
      | 'ticktick'
      | 'deck'
      | 'docket'
    /**
     * @description One of queued, running, done, failed, cancelled
     * @enum {string}
     */
    ImportState: 'queued' | 'running' | 'done' | 'failed' | 'cancelled'
    /**
     * @description One of queued, running, done, failed
     * @enum {string}
     */
    ImportUndoState: 'queued' | 'running' | 'done' | 'failed'
    /** @description Read-only fields are ignored: id, userId, user, projectId, createdAt */
    InviteMember: {
      /** @description An email address of at most 254 characters */
      email: string
      role?: components['schemas']['Role']
      /** @description The membership, used in member paths */
      readonly id?: unknown
      /** @description The user */
      readonly userId?: unknown
      /** @description The user; null after the account is deleted */
      readonly user?: unknown
      /** @description The project */
      readonly projectId?: unknown
      /** @description When the user was invited */
      readonly createdAt?: unknown
    }
    Label: {
      /** @description The label */
      id: string
      /** @description The project that has the label */
      projectId: string
      /** @description The name, unique in the project without regard to case */
      name: string
      /** @description A color in the form #rrggbb, or null */
      color: string | null
      /** @description When the label was created */
      createdAt: string
    }
    /** @description Read-only fields are ignored: createdAt */
    LabelCreateOperation: {
      /**
       * @description label.create (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'label.create'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A text of 1 to 50 characters, without control or bidirectional-override characters */
      name: string
      /** @description A color in the form #rrggbb, or null */
      color?: string | null
      /** @description When the label was created */
      readonly createdAt?: unknown
    }
    LabelDeleteOperation: {
      /**
       * @description label.delete (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'label.delete'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The label */
        id?: string
        /** @description The project that has the label */
        projectId?: string
        /** @description The name, unique in the project without regard to case */
        name?: string
        /** @description A color in the form #rrggbb, or null */
        color?: string | null
        /** @description When the label was created */
        createdAt?: string
      }
      /** @description The id of a label, or the `#name` of an earlier operation */
      id: string
    }
    LabelFields: {
      /** @description The label */
      id?: string
      /** @description The project that has the label */
      projectId?: string
      /** @description The name, unique in the project without regard to case */
      name?: string
      /** @description A color in the form #rrggbb, or null */
      color?: string | null
      /** @description When the label was created */
      createdAt?: string
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    LabelUpdateOperation: {
      /**
       * @description label.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'label.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The label */
        id?: string
        /** @description The project that has the label */
        projectId?: string
        /** @description The name, unique in the project without regard to case */
        name?: string
        /** @description A color in the form #rrggbb, or null */
        color?: string | null
        /** @description When the label was created */
        createdAt?: string
      }
      /** @description The id of a label, or the `#name` of an earlier operation */
      id: string
      /** @description A text of 1 to 50 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A color in the form #rrggbb, or null */
      color?: string | null
      /** @description The project that has the label */
      readonly projectId?: unknown
      /** @description When the label was created */
      readonly createdAt?: unknown
    }
    LinesOfJson: string
    /** @description Read-only fields are ignored: id, name, emailVerified */
    Login: {
      /** @description A text, the registered email address */
      email: string
      /** @description A text, the password */
      password: string
      /** @description The user */
      readonly id?: unknown
      /** @description The full name */
      readonly name?: unknown
      /** @description Whether the user has verified the address through a mail */
      readonly emailVerified?: unknown
    }
    /** @description A request or a notification of JSON-RPC 2.0 */
    McpMessage: {
      [key: string]: unknown
    }
    /** @description A response of JSON-RPC 2.0: `error` in place of `result` means that the message was rejected */
    McpReply: {
      [key: string]: unknown
    }
    Member: {
      /** @description The membership, used in member paths */
      id: string
      /** @description The user */
      userId: string
      /** @description The user; null after the account is deleted */
      user: components['schemas']['User'] | null
      /** @description The project */
      projectId: string
      role: components['schemas']['Role']
      /** @description When the user was invited */
      createdAt: string
    }
    MemberFields: {
      /** @description The membership, used in member paths */
      id?: string
      /** @description The user */
      userId?: string
      /** @description The user; null after the account is deleted */
      user?: components['schemas']['User'] | null
      /** @description The project */
      projectId?: string
      role?: components['schemas']['Role']
      /** @description When the user was invited */
      createdAt?: string
    }
    /** @description Read-only fields are ignored: id, userId, user, createdAt */
    MemberInviteOperation: {
      /**
       * @description member.invite (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'member.invite'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description An email address of at most 254 characters */
      email: string
      role?: components['schemas']['Role']
      /** @description The membership, used in member paths */
      readonly id?: unknown
      /** @description The user */
      readonly userId?: unknown
      /** @description The user; null after the account is deleted */
      readonly user?: unknown
      /** @description When the user was invited */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, userId, user, role, createdAt */
    MemberRemoveOperation: {
      /**
       * @description member.remove (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'member.remove'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The membership, used in member paths */
        id?: string
        /** @description The user */
        userId?: string
        /** @description The user; null after the account is deleted */
        user?: components['schemas']['User'] | null
        /** @description The project */
        projectId?: string
        role?: components['schemas']['Role']
        /** @description When the user was invited */
        createdAt?: string
      }
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description The id of a member, or the `#name` of an earlier operation */
      memberId: string
      revoke?: components['schemas']['Revoke']
      /** @description The membership, used in member paths */
      readonly id?: unknown
      /** @description The user */
      readonly userId?: unknown
      /** @description The user; null after the account is deleted */
      readonly user?: unknown
      /** @description One of VIEWER, EDITOR, ADMIN */
      readonly role?: unknown
      /** @description When the user was invited */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, userId, user, createdAt */
    MemberSetRoleOperation: {
      /**
       * @description member.set_role (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'member.set_role'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The membership, used in member paths */
        id?: string
        /** @description The user */
        userId?: string
        /** @description The user; null after the account is deleted */
        user?: components['schemas']['User'] | null
        /** @description The project */
        projectId?: string
        role?: components['schemas']['Role']
        /** @description When the user was invited */
        createdAt?: string
      }
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description The id of a member, or the `#name` of an earlier operation */
      memberId: string
      role: components['schemas']['Role']
      /** @description The membership, used in member paths */
      readonly id?: unknown
      /** @description The user */
      readonly userId?: unknown
      /** @description The user; null after the account is deleted */
      readonly user?: unknown
      /** @description When the user was invited */
      readonly createdAt?: unknown
    }
    Message: {
      /** @description A description of the result */
      message: string
    }
    NewApiToken: {
      /** @description The id of the token, used in its path */
      id: string
      /** @description The token for the Authorization header; only this response shows it */
      token: string
      /** @description The purpose of the token */
      name: string
      /** @description A list of read, write, admin: each includes the scopes before it */
      scopes: components['schemas']['Scope'][]
      /** @description A list of 1 to 100 project ids, or null: the token gives access only to these projects */
      projects: string[] | null
      /** @description When the token expires */
      expiresAt: string
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When the token was created */
      createdAt: string
      /** @description When the token was last used, to the minute; null if the token was never used */
      lastUsedAt: string | null
    }
    Project: {
      /** @description The project */
      id: string
      /** @description The name of the project */
      name: string
      /** @description A longer description, or null */
      description: string | null
      textEdits: components['schemas']['TextEdits']
      /** @description The user who created the project */
      ownerId: string
      /** @description The owner; null after the account is deleted */
      owner: components['schemas']['User'] | null
      /** @description When the project was created */
      createdAt: string
    }
    ProjectEvent: {
      /** @description The project */
      projectId: string
      /** @description The number in the project: 1, 2, 3 … */
      seq: number
      /** @description The event */
      id: string
      type: components['schemas']['EventType']
      entity: components['schemas']['Entity']
      /** @description The changed entity */
      entityId: string
      /** @description The task that changed, or whose child changed; null for other entities */
      taskId: string | null
      /** @description If one commit has several events: the seq of the first event; otherwise null */
      batch: number | null
      /** @description If the event is part of an undo: the seq of the event that is undone */
      undoes?: number
      /** @description Only in `task.released`: true if the claim was released with `failed` */
      failed?: boolean
      /** @description Only in `task.released`: the reason of the release, or null */
      reason?: string | null
      actor: components['schemas']['Actor']
      /** @description When the change was committed */
      at: string
      /** @description The entity before the change; null if it was created; in an update only changed fields */
      before:
        | components['schemas']['ProjectFields']
        | components['schemas']['MemberFields']
        | components['schemas']['TaskFields']
        | components['schemas']['SubtaskFields']
        | components['schemas']['CommentFields']
        | components['schemas']['LabelFields']
        | components['schemas']['FieldFields']
        | components['schemas']['ViewFields']
        | components['schemas']['WebhookFields']
        | components['schemas']['ServiceAccountFields']
        | components['schemas']['TokenFields']
        | null
      /** @description The entity after the change; null if it was deleted; in an update only changed fields */
      after:
        | components['schemas']['ProjectFields']
        | components['schemas']['MemberFields']
        | components['schemas']['TaskFields']
        | components['schemas']['SubtaskFields']
        | components['schemas']['CommentFields']
        | components['schemas']['LabelFields']
        | components['schemas']['FieldFields']
        | components['schemas']['ViewFields']
        | components['schemas']['WebhookFields']
        | components['schemas']['ServiceAccountFields']
        | components['schemas']['TokenFields']
        | null
    }
    ProjectFields: {
      /** @description The project */
      id?: string
      /** @description The name of the project */
      name?: string
      /** @description A longer description, or null */
      description?: string | null
      textEdits?: components['schemas']['TextEdits']
      /** @description The user who created the project */
      ownerId?: string
      /** @description The owner; null after the account is deleted */
      owner?: components['schemas']['User'] | null
      /** @description When the project was created */
      createdAt?: string
    }
    /** @description Read-only fields are ignored: ownerId, owner, createdAt */
    ProjectUpdateOperation: {
      /**
       * @description project.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'project.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The project */
        id?: string
        /** @description The name of the project */
        name?: string
        /** @description A longer description, or null */
        description?: string | null
        textEdits?: components['schemas']['TextEdits']
        /** @description The user who created the project */
        ownerId?: string
        /** @description The owner; null after the account is deleted */
        owner?: components['schemas']['User'] | null
        /** @description When the project was created */
        createdAt?: string
      }
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      id?: string
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      textEdits?: components['schemas']['TextEdits']
      /** @description The user who created the project */
      readonly ownerId?: unknown
      /** @description The owner; null after the account is deleted */
      readonly owner?: unknown
      /** @description When the project was created */
      readonly createdAt?: unknown
    }
    ReadEvents: {
      /** @description An object with at most 1000 project ids, each with a seq: the seq of the last event that the client has, or 0 */
      after: {
        [key: string]: number
      }
      /** @description A whole number from 1 to 500: the most events in the response, by default 100 */
      limit?: number
      /** @description The id of an account, or `me`: leaves out the events of this account */
      exceptActor?: string
      /** @description A whole number from 0 to 25: how many seconds to wait for events */
      wait?: number
    }
    /** @description Read-only fields are ignored: id, emailVerified */
    Register: {
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name: string
      /** @description An email address of at most 254 characters */
      email: string
      /** @description A password of 6 to 1024 characters */
      password: string
      /** @description The user */
      readonly id?: unknown
      /** @description Whether the user has verified the address through a mail */
      readonly emailVerified?: unknown
    }
    /**
     * @description Read-only fields are ignored: id, projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor
     * @default {}
     */
    ReleaseTask: {
      /** @description True or false: true counts the claim in `attempts` of the task */
      failed?: boolean
      /** @description A text of 0 to 2000 characters */
      reason?: string
      /** @description The task */
      readonly id?: unknown
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description One of LOW, MEDIUM, HIGH */
      readonly priority?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The user to whom the task is assigned, or null */
      readonly assigneeId?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: id, projectId, url, types, maxEvents, exceptActorId, enabled, disabledReason, cursor, failures, nextAttemptAt, createdBy, createdAt */
    ReplayWebhook: {
      /** @description A whole number from 0: delivery continues after this seq; 0 repeats all events */
      after: number
      /** @description The id of the webhook, used in its paths */
      readonly id?: unknown
      /** @description The project */
      readonly projectId?: unknown
      /** @description A URL that begins with https:// and resolves to public addresses */
      readonly url?: unknown
      /** @description A list of event types, or null: only events of these types are sent */
      readonly types?: unknown
      /** @description A whole number from 1 to 100: the most events in one delivery */
      readonly maxEvents?: unknown
      /** @description The account whose events are not sent; null to send the events of all accounts */
      readonly exceptActorId?: unknown
      /** @description true or false: whether events are sent */
      readonly enabled?: unknown
      /** @description Why the service disabled the webhook; otherwise null */
      readonly disabledReason?: unknown
      /** @description Every event up to this seq is delivered */
      readonly cursor?: unknown
      /** @description Failed attempts since the last success */
      readonly failures?: unknown
      /** @description The time of the next attempt after a failure; otherwise null */
      readonly nextAttemptAt?: unknown
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      readonly createdBy?: unknown
      /** @description When the webhook was created */
      readonly createdAt?: unknown
    }
    ResetPassword: {
      /** @description A text, the token from the mail */
      token: string
      /** @description A password of 6 to 1024 characters */
      password: string
    }
    /**
     * @description One of true, false: `true` also deletes all webhooks, service accounts and tokens that the member created
     * @enum {string}
     */
    Revoke: 'true' | 'false'
    /**
     * @description One of VIEWER, EDITOR, ADMIN
     * @enum {string}
     */
    Role: 'VIEWER' | 'EDITOR' | 'ADMIN'
    /**
     * @description One of read, write, admin
     * @enum {string}
     */
    Scope: 'read' | 'write' | 'admin'
    SearchHit: {
      type: components['schemas']['HitType']
      /** @description The task, comment or project */
      id: string
      /** @description The project that contains the hit; for a project, the project itself */
      projectId: string
      /** @description The task, or the task of the comment; null for a project */
      taskId: string | null
      /** @description The title of the task, also for a comment, or the name of the project */
      title: string
      snippet: components['schemas']['Snippet']
      /**
       * @description Present if nothing contains all words, and this title is similar to `q`
       * @constant
       */
      fuzzy?: true
    }
    ServiceAccount: {
      /** @description The service account, with this id in tasks, comments and events */
      id: string
      /** @description The name of the service account */
      name: string
      /** @description The project */
      projectId: string
      /** @description The membership, used in member paths */
      memberId: string
      role: components['schemas']['Role']
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When the service account was created */
      createdAt: string
    }
    ServiceAccountFields: {
      /** @description The service account */
      id?: string
      /** @description The project */
      projectId?: string
      /** @description The name of the service account */
      name?: string
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy?: string | null
      /** @description When it was created */
      createdAt?: string
    }
    ServiceAccountSummary: {
      /** @description The service account */
      id: string
      /** @description The project */
      projectId: string
      /** @description The name of the service account */
      name: string
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When it was created */
      createdAt: string
    }
    /** @description Read-only fields are ignored: id, userId, user, projectId, createdAt */
    SetMemberRole: {
      role: components['schemas']['Role']
      /** @description The membership, used in member paths */
      readonly id?: unknown
      /** @description The user */
      readonly userId?: unknown
      /** @description The user; null after the account is deleted */
      readonly user?: unknown
      /** @description The project */
      readonly projectId?: unknown
      /** @description When the user was invited */
      readonly createdAt?: unknown
    }
    SignedIn: {
      /** @description A JWT for the Authorization header */
      access_token: string
      user: components['schemas']['Account']
    }
    Snippet: {
      /** @description At most about 200 characters of the description or the comment; of the title if only the title matches. A plain text, not HTML */
      text: string
      /** @description The matched words in `text`: the start and the end of each, in UTF-16 code units as JavaScript counts characters. The end is exclusive; the ranges are sorted and do not overlap */
      matches: number[][]
    }
    Subtask: {
      /** @description The subtask */
      id: string
      /** @description The title of the subtask */
      title: string
      /** @description Whether the subtask is completed */
      completed: boolean
      /** @description The task that has the subtask */
      taskId: string
      /** @description When the subtask was created */
      createdAt: string
    }
    /** @description Read-only fields are ignored: completed, createdAt */
    SubtaskCreateOperation: {
      /**
       * @description subtask.create (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'subtask.create'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description The id of a task, or the `#name` of an earlier operation */
      taskId: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title: string
      /** @description Whether the subtask is completed */
      readonly completed?: unknown
      /** @description When the subtask was created */
      readonly createdAt?: unknown
    }
    SubtaskDeleteOperation: {
      /**
       * @description subtask.delete (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'subtask.delete'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The subtask */
        id?: string
        /** @description The title of the subtask */
        title?: string
        /** @description Whether the subtask is completed */
        completed?: boolean
        /** @description The task that has the subtask */
        taskId?: string
        /** @description When the subtask was created */
        createdAt?: string
      }
      /** @description The id of a subtask, or the `#name` of an earlier operation */
      id: string
    }
    SubtaskFields: {
      /** @description The subtask */
      id?: string
      /** @description The title of the subtask */
      title?: string
      /** @description Whether the subtask is completed */
      completed?: boolean
      /** @description The task that has the subtask */
      taskId?: string
      /** @description When the subtask was created */
      createdAt?: string
    }
    /** @description Read-only fields are ignored: title, completed, taskId, createdAt */
    SubtaskToggleOperation: {
      /**
       * @description subtask.toggle (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'subtask.toggle'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The subtask */
        id?: string
        /** @description The title of the subtask */
        title?: string
        /** @description Whether the subtask is completed */
        completed?: boolean
        /** @description The task that has the subtask */
        taskId?: string
        /** @description When the subtask was created */
        createdAt?: string
      }
      /** @description The id of a subtask, or the `#name` of an earlier operation */
      id: string
      /** @description The title of the subtask */
      readonly title?: unknown
      /** @description Whether the subtask is completed */
      readonly completed?: unknown
      /** @description The task that has the subtask */
      readonly taskId?: unknown
      /** @description When the subtask was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: taskId, createdAt */
    SubtaskUpdateOperation: {
      /**
       * @description subtask.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'subtask.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The subtask */
        id?: string
        /** @description The title of the subtask */
        title?: string
        /** @description Whether the subtask is completed */
        completed?: boolean
        /** @description The task that has the subtask */
        taskId?: string
        /** @description When the subtask was created */
        createdAt?: string
      }
      /** @description The id of a subtask, or the `#name` of an earlier operation */
      id: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title?: string
      /** @description True or false */
      completed?: boolean
      /** @description The task that has the subtask */
      readonly taskId?: unknown
      /** @description When the subtask was created */
      readonly createdAt?: unknown
    }
    Task: {
      /** @description The task */
      id: string
      /** @description The project that contains the task */
      projectId: string
      /** @description The number in the project: 1, 2, 3 … */
      number: number
      /** @description The title of the task */
      title: string
      /** @description A description, or null */
      description: string | null
      status: components['schemas']['TaskStatus']
      priority: components['schemas']['TaskPriority']
      /** @description When the task is due, or null */
      dueDate: string | null
      /** @description The user to whom the task is assigned, or null */
      assigneeId: string | null
      /** @description The id of the task in another system, or null */
      externalId: string | null
      /** @description When the event `task.reminded` is recorded, or null */
      remindAt: string | null
      /** @description When the task was created */
      createdAt: string
      /** @description When the task was last changed */
      updatedAt: string
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      position: string
      /** @description The labels of the task, in the order of the client */
      labelIds: string[]
      /** @description The tasks that must be done before this task */
      blockedByIds: string[]
      /** @description Values by the keys of the project's fields */
      fields: {
        [key: string]: string | number | boolean
      }
      /** @description The claim of a worker on the task, or null */
      claim: components['schemas']['Claim'] | null
      /** @description How many claims have expired, or were released with `failed` */
      attempts: number
      /** @description The name of the author in the system that the task was imported from, or null */
      importedAuthor: string | null
    }
    /** @description Read-only fields are ignored: projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    TaskAppendOperation: {
      /**
       * @description task.append (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.append'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The task */
        id?: string
        /** @description The project that contains the task */
        projectId?: string
        /** @description The number in the project: 1, 2, 3 … */
        number?: number
        /** @description The title of the task */
        title?: string
        /** @description A description, or null */
        description?: string | null
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description When the task is due, or null */
        dueDate?: string | null
        /** @description The user to whom the task is assigned, or null */
        assigneeId?: string | null
        /** @description The id of the task in another system, or null */
        externalId?: string | null
        /** @description When the event `task.reminded` is recorded, or null */
        remindAt?: string | null
        /** @description When the task was created */
        createdAt?: string
        /** @description When the task was last changed */
        updatedAt?: string
        /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
        position?: string
        /** @description The labels of the task, in the order of the client */
        labelIds?: string[]
        /** @description The tasks that must be done before this task */
        blockedByIds?: string[]
        /** @description Values by the keys of the project's fields */
        fields?: {
          [key: string]: string | number | boolean
        }
        /** @description The claim of a worker on the task, or null */
        claim?: components['schemas']['Claim'] | null
        /** @description How many claims have expired, or were released with `failed` */
        attempts?: number
        /** @description The name of the author in the system that the task was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a task, or the `#name` of an earlier operation */
      id: string
      field: components['schemas']['AppendField']
      /** @description A text of 1 to 20000 characters */
      text: string
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description One of LOW, MEDIUM, HIGH */
      readonly priority?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The user to whom the task is assigned, or null */
      readonly assigneeId?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: id, number, title, description, status, dueDate, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    TaskClaimNextOperation: {
      /**
       * @description task.claim_next (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.claim_next'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A whole number from 10 to 86400: how many seconds the claim lasts, unless its holder extends it */
      leaseSeconds: number
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation: the task has all of these labels */
      labels?: string[]
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation: the task has at least one of these labels */
      anyLabel?: string[]
      priority?: components['schemas']['TaskPriority']
      /** @description The id of a user, or the `#name` of an earlier operation */
      assigneeId?: string
      /** @description A whole number from 1 to 2147483647: skips the tasks that have had this many attempts */
      maxAttempts?: number
      /** @description The task */
      readonly id?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    TaskClaimOperation: {
      /**
       * @description task.claim (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.claim'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The task */
        id?: string
        /** @description The project that contains the task */
        projectId?: string
        /** @description The number in the project: 1, 2, 3 … */
        number?: number
        /** @description The title of the task */
        title?: string
        /** @description A description, or null */
        description?: string | null
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description When the task is due, or null */
        dueDate?: string | null
        /** @description The user to whom the task is assigned, or null */
        assigneeId?: string | null
        /** @description The id of the task in another system, or null */
        externalId?: string | null
        /** @description When the event `task.reminded` is recorded, or null */
        remindAt?: string | null
        /** @description When the task was created */
        createdAt?: string
        /** @description When the task was last changed */
        updatedAt?: string
        /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
        position?: string
        /** @description The labels of the task, in the order of the client */
        labelIds?: string[]
        /** @description The tasks that must be done before this task */
        blockedByIds?: string[]
        /** @description Values by the keys of the project's fields */
        fields?: {
          [key: string]: string | number | boolean
        }
        /** @description The claim of a worker on the task, or null */
        claim?: components['schemas']['Claim'] | null
        /** @description How many claims have expired, or were released with `failed` */
        attempts?: number
        /** @description The name of the author in the system that the task was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a task, or the `#name` of an earlier operation */
      id: string
      /** @description A whole number from 10 to 86400: how many seconds the claim lasts, unless its holder extends it */
      leaseSeconds: number
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description One of LOW, MEDIUM, HIGH */
      readonly priority?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The user to whom the task is assigned, or null */
      readonly assigneeId?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /**
     * @description One of status, priority, assigneeId, labelId, none
     * @enum {string}
     */
    TaskCountedBy: 'status' | 'priority' | 'assigneeId' | 'labelId' | 'none'
    TaskCounts: {
      /** @description The version of the project at which the tasks were counted */
      version: number
      /** @description The number of tasks that match the filters */
      total: number
      /** @description The number of tasks for each value. Empty with `by=none` */
      counts: {
        /** @description A value of `by`; null for tasks without a label or an assignee */
        value: string | null
        /** @description The number of tasks with this value */
        count: number
      }[]
      /** @description False if more than 100000 tasks match, or `q` does not cover all tasks yet: the numbers are lower bounds */
      isExact: boolean
    }
    /** @description Read-only fields are ignored: number, createdAt, updatedAt, position, claim, attempts, importedAuthor */
    TaskCreateOperation: {
      /**
       * @description task.create (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.create'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      dueDate?: string | null
      /** @description The id of a user, or null, or the `#name` of an earlier operation */
      assigneeId?: string | null
      /** @description A text of 1 to 200 characters, without control characters, or null */
      externalId?: string | null
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      remindAt?: string | null
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation */
      labelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates, or the `#name` of an earlier operation */
      blockedByIds?: string[]
      /** @description An object with at most 50 values: by the keys of the project's fields. Absent keys do not change; null removes a value */
      fields?: {
        [key: string]: string | number | boolean | null
      }
      /** @description The id of a task, or the `#name` of an earlier operation: places the task directly before this task */
      before?: string
      /** @description The id of a task, or the `#name` of an earlier operation: places the task directly after this task */
      after?: string
      place?: components['schemas']['TaskPlace']
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    TaskDeleteOperation: {
      /**
       * @description task.delete (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.delete'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The task */
        id?: string
        /** @description The project that contains the task */
        projectId?: string
        /** @description The number in the project: 1, 2, 3 … */
        number?: number
        /** @description The title of the task */
        title?: string
        /** @description A description, or null */
        description?: string | null
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description When the task is due, or null */
        dueDate?: string | null
        /** @description The user to whom the task is assigned, or null */
        assigneeId?: string | null
        /** @description The id of the task in another system, or null */
        externalId?: string | null
        /** @description When the event `task.reminded` is recorded, or null */
        remindAt?: string | null
        /** @description When the task was created */
        createdAt?: string
        /** @description When the task was last changed */
        updatedAt?: string
        /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
        position?: string
        /** @description The labels of the task, in the order of the client */
        labelIds?: string[]
        /** @description The tasks that must be done before this task */
        blockedByIds?: string[]
        /** @description Values by the keys of the project's fields */
        fields?: {
          [key: string]: string | number | boolean
        }
        /** @description The claim of a worker on the task, or null */
        claim?: components['schemas']['Claim'] | null
        /** @description How many claims have expired, or were released with `failed` */
        attempts?: number
        /** @description The name of the author in the system that the task was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a task, or the `#name` of an earlier operation */
      id: string
    }
    TaskEvent: {
      /** @description The project in which the event has this seq */
      projectId: string
      /** @description The number in the project: 1, 2, 3 … */
      seq: number
      /** @description The event */
      id: string
      type: components['schemas']['EventType']
      entity: components['schemas']['Entity']
      /** @description The changed entity */
      entityId: string
      /** @description The task that changed, or whose child changed; null for other entities */
      taskId: string | null
      /** @description If one commit has several events: the seq of the first event; otherwise null */
      batch: number | null
      /** @description If the event is part of an undo: the seq of the event that is undone */
      undoes?: number
      /** @description Only in `task.released`: true if the claim was released with `failed` */
      failed?: boolean
      /** @description Only in `task.released`: the reason of the release, or null */
      reason?: string | null
      actor: components['schemas']['Actor']
      /** @description When the change was committed */
      at: string
      /** @description The entity before the change; null if it was created; in an update only changed fields */
      before:
        | components['schemas']['ProjectFields']
        | components['schemas']['MemberFields']
        | components['schemas']['TaskFields']
        | components['schemas']['SubtaskFields']
        | components['schemas']['CommentFields']
        | components['schemas']['LabelFields']
        | components['schemas']['FieldFields']
        | components['schemas']['ViewFields']
        | components['schemas']['WebhookFields']
        | components['schemas']['ServiceAccountFields']
        | components['schemas']['TokenFields']
        | null
      /** @description The entity after the change; null if it was deleted; in an update only changed fields */
      after:
        | components['schemas']['ProjectFields']
        | components['schemas']['MemberFields']
        | components['schemas']['TaskFields']
        | components['schemas']['SubtaskFields']
        | components['schemas']['CommentFields']
        | components['schemas']['LabelFields']
        | components['schemas']['FieldFields']
        | components['schemas']['ViewFields']
        | components['schemas']['WebhookFields']
        | components['schemas']['ServiceAccountFields']
        | components['schemas']['TokenFields']
        | null
    }
    TaskFields: {
      /** @description The task */
      id?: string
      /** @description The project that contains the task */
      projectId?: string
      /** @description The number in the project: 1, 2, 3 … */
      number?: number
      /** @description The title of the task */
      title?: string
      /** @description A description, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description When the task is due, or null */
      dueDate?: string | null
      /** @description The user to whom the task is assigned, or null */
      assigneeId?: string | null
      /** @description The id of the task in another system, or null */
      externalId?: string | null
      /** @description When the event `task.reminded` is recorded, or null */
      remindAt?: string | null
      /** @description When the task was created */
      createdAt?: string
      /** @description When the task was last changed */
      updatedAt?: string
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      position?: string
      /** @description The labels of the task, in the order of the client */
      labelIds?: string[]
      /** @description The tasks that must be done before this task */
      blockedByIds?: string[]
      /** @description Values by the keys of the project's fields */
      fields?: {
        [key: string]: string | number | boolean
      }
      /** @description The claim of a worker on the task, or null */
      claim?: components['schemas']['Claim'] | null
      /** @description How many claims have expired, or were released with `failed` */
      attempts?: number
      /** @description The name of the author in the system that the task was imported from, or null */
      importedAuthor?: string | null
      /** @description Only in `task.moved_in`: the rows that moved with the task */
      subtasks?: components['schemas']['Subtask'][]
      /** @description Only in `task.moved_in`: the rows that moved with the task */
      comments?: components['schemas']['Comment'][]
    }
    /**
     * @description One of first, last: Places the task first or last in the project
     * @enum {string}
     */
    TaskPlace: 'first' | 'last'
    /**
     * @description One of LOW, MEDIUM, HIGH
     * @enum {string}
     */
    TaskPriority: 'LOW' | 'MEDIUM' | 'HIGH'
    /** @description Read-only fields are ignored: projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    TaskReleaseOperation: {
      /**
       * @description task.release (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.release'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The task */
        id?: string
        /** @description The project that contains the task */
        projectId?: string
        /** @description The number in the project: 1, 2, 3 … */
        number?: number
        /** @description The title of the task */
        title?: string
        /** @description A description, or null */
        description?: string | null
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description When the task is due, or null */
        dueDate?: string | null
        /** @description The user to whom the task is assigned, or null */
        assigneeId?: string | null
        /** @description The id of the task in another system, or null */
        externalId?: string | null
        /** @description When the event `task.reminded` is recorded, or null */
        remindAt?: string | null
        /** @description When the task was created */
        createdAt?: string
        /** @description When the task was last changed */
        updatedAt?: string
        /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
        position?: string
        /** @description The labels of the task, in the order of the client */
        labelIds?: string[]
        /** @description The tasks that must be done before this task */
        blockedByIds?: string[]
        /** @description Values by the keys of the project's fields */
        fields?: {
          [key: string]: string | number | boolean
        }
        /** @description The claim of a worker on the task, or null */
        claim?: components['schemas']['Claim'] | null
        /** @description How many claims have expired, or were released with `failed` */
        attempts?: number
        /** @description The name of the author in the system that the task was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a task, or the `#name` of an earlier operation */
      id: string
      /** @description True or false: true counts the claim in `attempts` of the task */
      failed?: boolean
      /** @description A text of 0 to 2000 characters */
      reason?: string
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The title of the task */
      readonly title?: unknown
      /** @description A description, or null */
      readonly description?: unknown
      /** @description One of TODO, IN_PROGRESS, DONE */
      readonly status?: unknown
      /** @description One of LOW, MEDIUM, HIGH */
      readonly priority?: unknown
      /** @description When the task is due, or null */
      readonly dueDate?: unknown
      /** @description The user to whom the task is assigned, or null */
      readonly assigneeId?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the event `task.reminded` is recorded, or null */
      readonly remindAt?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The labels of the task, in the order of the client */
      readonly labelIds?: unknown
      /** @description The tasks that must be done before this task */
      readonly blockedByIds?: unknown
      /** @description Values by the keys of the project's fields */
      readonly fields?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /**
     * @description One of createdAt, -createdAt, dueDate, -dueDate, position
     * @enum {string}
     */
    TaskSort: 'createdAt' | '-createdAt' | 'dueDate' | '-dueDate' | 'position'
    /**
     * @description One of TODO, IN_PROGRESS, DONE
     * @enum {string}
     */
    TaskStatus: 'TODO' | 'IN_PROGRESS' | 'DONE'
    /** @description Read-only fields are ignored: createdAt, updatedAt, position, claim, importedAuthor */
    TaskUpdateOperation: {
      /**
       * @description task.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The task */
        id?: string
        /** @description The project that contains the task */
        projectId?: string
        /** @description The number in the project: 1, 2, 3 … */
        number?: number
        /** @description The title of the task */
        title?: string
        /** @description A description, or null */
        description?: string | null
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description When the task is due, or null */
        dueDate?: string | null
        /** @description The user to whom the task is assigned, or null */
        assigneeId?: string | null
        /** @description The id of the task in another system, or null */
        externalId?: string | null
        /** @description When the event `task.reminded` is recorded, or null */
        remindAt?: string | null
        /** @description When the task was created */
        createdAt?: string
        /** @description When the task was last changed */
        updatedAt?: string
        /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
        position?: string
        /** @description The labels of the task, in the order of the client */
        labelIds?: string[]
        /** @description The tasks that must be done before this task */
        blockedByIds?: string[]
        /** @description Values by the keys of the project's fields */
        fields?: {
          [key: string]: string | number | boolean
        }
        /** @description The claim of a worker on the task, or null */
        claim?: components['schemas']['Claim'] | null
        /** @description How many claims have expired, or were released with `failed` */
        attempts?: number
        /** @description The name of the author in the system that the task was imported from, or null */
        importedAuthor?: string | null
      }
      /** @description The id of a task, or the `#name` of an earlier operation */
      id: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title?: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A whole number: 0 resets the attempts; another number is ignored, and also 0 in a body with `number` */
      attempts?: number
      /** @description The number in the project */
      readonly number?: unknown
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      dueDate?: string | null
      /** @description The id of a user, or null, or the `#name` of an earlier operation */
      assigneeId?: string | null
      /** @description A text of 1 to 200 characters, without control characters, or null */
      externalId?: string | null
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      remindAt?: string | null
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation */
      labelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates, or the `#name` of an earlier operation */
      blockedByIds?: string[]
      /** @description An object with at most 50 values: by the keys of the project's fields. Absent keys do not change; null removes a value */
      fields?: {
        [key: string]: string | number | boolean | null
      }
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation: appended to labelIds */
      addLabelIds?: string[]
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation: removed from labelIds */
      removeLabelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates, or the `#name` of an earlier operation: appended to blockedByIds */
      addBlockedByIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates, or the `#name` of an earlier operation: removed from blockedByIds */
      removeBlockedByIds?: string[]
      /** @description The id of a task, or the `#name` of an earlier operation: places the task directly before this task */
      before?: string
      /** @description The id of a task, or the `#name` of an earlier operation: places the task directly after this task */
      after?: string
      place?: components['schemas']['TaskPlace']
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: id, number, createdAt, updatedAt, position, claim, attempts, importedAuthor */
    TaskUpsertOperation: {
      /**
       * @description task.upsert (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'task.upsert'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      dueDate?: string | null
      /** @description The id of a user, or null, or the `#name` of an earlier operation */
      assigneeId?: string | null
      /** @description A text of 1 to 200 characters, without control characters */
      externalId: string
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      remindAt?: string | null
      /** @description A list of at most 50 ids of labels, without duplicates, or the `#name` of an earlier operation */
      labelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates, or the `#name` of an earlier operation */
      blockedByIds?: string[]
      /** @description An object with at most 50 values: by the keys of the project's fields. Absent keys do not change; null removes a value */
      fields?: {
        [key: string]: string | number | boolean | null
      }
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title?: string
      /** @description The task */
      readonly id?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /**
     * @description One of last-write-wins, if-match: with if-match, a change of the title or of an existing description of a task needs the ETag of the task
     * @enum {string}
     */
    TextEdits: 'last-write-wins' | 'if-match'
    TokenFields: {
      /** @description The token */
      id?: string
      /** @description The service account that the token belongs to */
      serviceAccountId?: string
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy?: string | null
      /** @description When it was created */
      createdAt?: string
    }
    TokenSummary: {
      /** @description The token */
      id: string
      /** @description The service account that the token belongs to */
      serviceAccountId: string
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When it was created */
      createdAt: string
    }
    UndoProject: {
      /** @description A whole number from 1: the seq of an event */
      seq?: number
      /** @description A whole number from 1: the value of batch in the events, or the seq of an event without it */
      batch?: number
      /** @description A list of 1 to 500 different seqs of events */
      seqs?: number[]
    }
    Undone: {
      /** @description The project's version after the undo; for a dry run, the current version */
      version: number
      /** @description The events of the undo, in order; only the first events if all together have more than 500000 bytes */
      changes: components['schemas']['Event'][]
    }
    /** @description Read-only fields are ignored: id, authorId, author, authorRemoved, taskId, createdAt, updatedAt, importedAuthor */
    UpdateComment: {
      /** @description A text of 1 to 20000 characters */
      text: string
      /** @description The comment */
      readonly id?: unknown
      /** @description The user who wrote the comment */
      readonly authorId?: unknown
      /** @description The author; null after the deletion of a user, not of a service account */
      readonly author?: unknown
      /** @description Whether `author` is null */
      readonly authorRemoved?: unknown
      /** @description The task that has the comment */
      readonly taskId?: unknown
      /** @description When the comment was created */
      readonly createdAt?: unknown
      /** @description When the comment was last edited */
      readonly updatedAt?: unknown
      /** @description The name of the author in the system that the comment was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: id, projectId, key, type, createdAt */
    UpdateField: {
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A list of 1 to 100 different texts of 1 to 100 characters, or null */
      options?: string[] | null
      /** @description The field */
      readonly id?: unknown
      /** @description The project that has the field */
      readonly projectId?: unknown
      /** @description The key of the values in `fields` of tasks */
      readonly key?: unknown
      /** @description One of text, number, boolean, date, choice */
      readonly type?: unknown
      /** @description When the field was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, projectId, createdAt */
    UpdateLabel: {
      /** @description A text of 1 to 50 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A color in the form #rrggbb, or null */
      color?: string | null
      /** @description The label */
      readonly id?: unknown
      /** @description The project that has the label */
      readonly projectId?: unknown
      /** @description When the label was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: access_token, id, email, emailVerified */
    UpdateMe: {
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A password of 6 to 1024 characters */
      password?: string
      /** @description A text, the current password, required to set a new one */
      currentPassword?: string
      /** @description A JWT for the Authorization header */
      readonly access_token?: unknown
      /** @description The user */
      readonly id?: unknown
      /** @description The address */
      readonly email?: unknown
      /** @description Whether the user has verified the address through a mail */
      readonly emailVerified?: unknown
    }
    /** @description Read-only fields are ignored: id, ownerId, owner, createdAt */
    UpdateProject: {
      /** @description A text of 1 to 200 characters, without control or bidirectional-override characters */
      name?: string
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      textEdits?: components['schemas']['TextEdits']
      /** @description The project */
      readonly id?: unknown
      /** @description The user who created the project */
      readonly ownerId?: unknown
      /** @description The owner; null after the account is deleted */
      readonly owner?: unknown
      /** @description When the project was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, taskId, createdAt */
    UpdateSubtask: {
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title?: string
      /** @description True or false */
      completed?: boolean
      /** @description The subtask */
      readonly id?: unknown
      /** @description The task that has the subtask */
      readonly taskId?: unknown
      /** @description When the subtask was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, createdAt, updatedAt, position, claim, importedAuthor */
    UpdateTask: {
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title?: string
      /** @description The id of a project */
      projectId?: string
      /** @description A whole number: 0 resets the attempts; another number is ignored, and also 0 in a body with `number` */
      attempts?: number
      /** @description The number in the project */
      readonly number?: unknown
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      dueDate?: string | null
      /** @description The id of a user, or null */
      assigneeId?: string | null
      /** @description A text of 1 to 200 characters, without control characters, or null */
      externalId?: string | null
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      remindAt?: string | null
      /** @description A list of at most 50 ids of labels, without duplicates */
      labelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates */
      blockedByIds?: string[]
      /** @description An object with at most 50 values: by the keys of the project's fields. Absent keys do not change; null removes a value */
      fields?: {
        [key: string]: string | number | boolean | null
      }
      /** @description A list of at most 50 ids of labels, without duplicates: appended to labelIds */
      addLabelIds?: string[]
      /** @description A list of at most 50 ids of labels, without duplicates: removed from labelIds */
      removeLabelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates: appended to blockedByIds */
      addBlockedByIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates: removed from blockedByIds */
      removeBlockedByIds?: string[]
      /** @description The id of a task: places the task directly before this task */
      before?: string
      /** @description The id of a task: places the task directly after this task */
      after?: string
      place?: components['schemas']['TaskPlace']
      /** @description The task */
      readonly id?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    /** @description Read-only fields are ignored: id, projectId, createdAt */
    UpdateView: {
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name?: string
      /** @description An object with at most 20 parameters of the list of tasks: each value is a text. Without projectId, cursor and asOf */
      query?: {
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueAfter?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueBefore?: string
        /** @description The id of a user, or "me" */
        assigneeId?: string
        /** @description A text of 1 to 200 characters: lists the task with this external id. Needs projectId */
        externalId?: string
        /** @description The words of a search, as in GET /search. Comments and subtasks count as text of their task */
        q?: string
        /** @description The id of a task: lists the tasks that it blocks */
        blocks?: string
        /** @description The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now */
        claimedBy?: string
        /** @description A whole number from 0 to undefined as a text */
        minAttempts?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with all of these labels */
        labels?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with at least one of these labels */
        anyLabel?: string
        /**
         * @description true: lists the tasks without labels
         * @enum {string}
         */
        noLabel?: 'true'
        /**
         * @description true: lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted
         * @enum {string}
         */
        ready?: 'true'
        sort?: components['schemas']['TaskSort']
        /** @description A whole number from 1 to 200 as a text */
        limit?: string
        /** @description A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId */
        [key: `field.${string}`]: undefined | string
      }
      /** @description The view */
      readonly id?: unknown
      /** @description The project whose tasks the view lists */
      readonly projectId?: unknown
      /** @description When the view was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, secret, projectId, disabledReason, cursor, failures, nextAttemptAt, createdBy, createdAt */
    UpdateWebhook: {
      /** @description A URL that begins with https:// and resolves to public addresses */
      url?: string
      /** @description A list of event types, or null: only events of these types are sent */
      types?: components['schemas']['EventType'][] | null
      /** @description A whole number from 1 to 100: the most events in one delivery */
      maxEvents?: number
      /** @description The id of an account, or `me`, or null: leaves out the events of this account */
      exceptActorId?: string | null
      /** @description true or false: whether events are sent */
      enabled?: boolean
      /** @description The id of the webhook, used in its paths */
      readonly id?: unknown
      /** @description The key that signs deliveries; only this response shows it */
      readonly secret?: unknown
      /** @description The project */
      readonly projectId?: unknown
      /** @description Why the service disabled the webhook; otherwise null */
      readonly disabledReason?: unknown
      /** @description Every event up to this seq is delivered */
      readonly cursor?: unknown
      /** @description Failed attempts since the last success */
      readonly failures?: unknown
      /** @description The time of the next attempt after a failure; otherwise null */
      readonly nextAttemptAt?: unknown
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      readonly createdBy?: unknown
      /** @description When the webhook was created */
      readonly createdAt?: unknown
    }
    /** @description Read-only fields are ignored: id, projectId, number, externalId, createdAt, updatedAt, position, claim, attempts, importedAuthor */
    UpsertTask: {
      /** @description A text of 0 to 20000 characters, or null */
      description?: string | null
      status?: components['schemas']['TaskStatus']
      priority?: components['schemas']['TaskPriority']
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      dueDate?: string | null
      /** @description The id of a user, or null */
      assigneeId?: string | null
      /** @description An ISO 8601 date-time with offset, or a date (midnight UTC), or null */
      remindAt?: string | null
      /** @description A list of at most 50 ids of labels, without duplicates */
      labelIds?: string[]
      /** @description A list of at most 50 ids of tasks, without duplicates */
      blockedByIds?: string[]
      /** @description An object with at most 50 values: by the keys of the project's fields. Absent keys do not change; null removes a value */
      fields?: {
        [key: string]: string | number | boolean | null
      }
      /** @description A text of 1 to 500 characters, without control or bidirectional-override characters */
      title?: string
      /** @description The task */
      readonly id?: unknown
      /** @description The project that contains the task */
      readonly projectId?: unknown
      /** @description The number in the project: 1, 2, 3 … */
      readonly number?: unknown
      /** @description The id of the task in another system, or null */
      readonly externalId?: unknown
      /** @description When the task was created */
      readonly createdAt?: unknown
      /** @description When the task was last changed */
      readonly updatedAt?: unknown
      /** @description The place in the project: compared byte by byte, these texts give the order of `sort=position` */
      readonly position?: unknown
      /** @description The claim of a worker on the task, or null */
      readonly claim?: unknown
      /** @description How many claims have expired, or were released with `failed` */
      readonly attempts?: unknown
      /** @description The name of the author in the system that the task was imported from, or null */
      readonly importedAuthor?: unknown
    }
    User: {
      /** @description The user */
      id: string
      /** @description The full name */
      name: string
      /** @description The address */
      email: string
    }
    VerifyEmail: {
      /** @description A text, the token from the mail */
      token: string
    }
    /** @description Server-sent events without `event`, whose `data` is `{projectId, version}`; the version is null if the caller can no longer see the project. An event of type `more`, whose `data` is `{told, last}`, means that the caller has projects after `last`, which the stream does not list. Before the service closes the stream, it sends an event of type `end`, whose `data` is an Error with the reason. While nothing changes, the service sends comments to keep the connection open. */
    VersionStream: string
    View: {
      /** @description The view */
      id: string
      /** @description The project whose tasks the view lists */
      projectId: string
      /** @description The name of the view */
      name: string
      /** @description Parameters of the list of tasks */
      query: {
        [key: string]: string
      }
      /** @description When the view was created */
      createdAt: string
    }
    /** @description Read-only fields are ignored: createdAt */
    ViewCreateOperation: {
      /**
       * @description view.create (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'view.create'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description A new UUIDv7 chosen by the client; without it the service generates one */
      id?: string
      /** @description The id of the batch's project; may be left out, or the `#name` of an earlier operation */
      projectId?: string
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name: string
      /** @description An object with at most 20 parameters of the list of tasks: each value is a text. Without projectId, cursor and asOf */
      query: {
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueAfter?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueBefore?: string
        /** @description The id of a user, or "me" */
        assigneeId?: string
        /** @description A text of 1 to 200 characters: lists the task with this external id. Needs projectId */
        externalId?: string
        /** @description The words of a search, as in GET /search. Comments and subtasks count as text of their task */
        q?: string
        /** @description The id of a task: lists the tasks that it blocks */
        blocks?: string
        /** @description The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now */
        claimedBy?: string
        /** @description A whole number from 0 to undefined as a text */
        minAttempts?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with all of these labels */
        labels?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with at least one of these labels */
        anyLabel?: string
        /**
         * @description true: lists the tasks without labels
         * @enum {string}
         */
        noLabel?: 'true'
        /**
         * @description true: lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted
         * @enum {string}
         */
        ready?: 'true'
        sort?: components['schemas']['TaskSort']
        /** @description A whole number from 1 to 200 as a text */
        limit?: string
        /** @description A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId */
        [key: `field.${string}`]: undefined | string
      }
      /** @description When the view was created */
      readonly createdAt?: unknown
    }
    ViewDeleteOperation: {
      /**
       * @description view.delete (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'view.delete'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The view */
        id?: string
        /** @description The project whose tasks the view lists */
        projectId?: string
        /** @description The name of the view */
        name?: string
        /** @description Parameters of the list of tasks */
        query?: {
          [key: string]: string
        }
        /** @description When the view was created */
        createdAt?: string
      }
      /** @description The id of a view, or the `#name` of an earlier operation */
      id: string
    }
    ViewFields: {
      /** @description The view */
      id?: string
      /** @description The project whose tasks the view lists */
      projectId?: string
      /** @description The name of the view */
      name?: string
      /** @description Parameters of the list of tasks */
      query?: {
        [key: string]: string
      }
      /** @description When the view was created */
      createdAt?: string
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    ViewUpdateOperation: {
      /**
       * @description view.update (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      op: 'view.update'
      /** @description A name of 1 to 64 characters for the resource of the operation */
      as?: string
      /** @description A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned */
      ifMatch?: string
      /** @description An object of fields and the values that they must have: if not, 409 is returned */
      was?: {
        /** @description The view */
        id?: string
        /** @description The project whose tasks the view lists */
        projectId?: string
        /** @description The name of the view */
        name?: string
        /** @description Parameters of the list of tasks */
        query?: {
          [key: string]: string
        }
        /** @description When the view was created */
        createdAt?: string
      }
      /** @description The id of a view, or the `#name` of an earlier operation */
      id: string
      /** @description A text of 1 to 100 characters, without control or bidirectional-override characters */
      name?: string
      /** @description An object with at most 20 parameters of the list of tasks: each value is a text. Without projectId, cursor and asOf */
      query?: {
        status?: components['schemas']['TaskStatus']
        priority?: components['schemas']['TaskPriority']
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueAfter?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueBefore?: string
        /** @description The id of a user, or "me" */
        assigneeId?: string
        /** @description A text of 1 to 200 characters: lists the task with this external id. Needs projectId */
        externalId?: string
        /** @description The words of a search, as in GET /search. Comments and subtasks count as text of their task */
        q?: string
        /** @description The id of a task: lists the tasks that it blocks */
        blocks?: string
        /** @description The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now */
        claimedBy?: string
        /** @description A whole number from 0 to undefined as a text */
        minAttempts?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with all of these labels */
        labels?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with at least one of these labels */
        anyLabel?: string
        /**
         * @description true: lists the tasks without labels
         * @enum {string}
         */
        noLabel?: 'true'
        /**
         * @description true: lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted
         * @enum {string}
         */
        ready?: 'true'
        sort?: components['schemas']['TaskSort']
        /** @description A whole number from 1 to 200 as a text */
        limit?: string
        /** @description A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId */
        [key: `field.${string}`]: undefined | string
      }
      /** @description The project whose tasks the view lists */
      readonly projectId?: unknown
      /** @description When the view was created */
      readonly createdAt?: unknown
    }
    Webhook: {
      /** @description The id of the webhook, used in its paths */
      id: string
      /** @description The project */
      projectId: string
      /** @description A URL that begins with https:// and resolves to public addresses */
      url: string
      /** @description A list of event types, or null: only events of these types are sent */
      types: components['schemas']['EventType'][] | null
      /** @description A whole number from 1 to 100: the most events in one delivery */
      maxEvents: number
      /** @description The account whose events are not sent; null to send the events of all accounts */
      exceptActorId: string | null
      /** @description true or false: whether events are sent */
      enabled: boolean
      /** @description Why the service disabled the webhook; otherwise null */
      disabledReason: string | null
      /** @description Every event up to this seq is delivered */
      cursor: number
      /** @description Failed attempts since the last success */
      failures: number
      /** @description The time of the next attempt after a failure; otherwise null */
      nextAttemptAt: string | null
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When the webhook was created */
      createdAt: string
    }
    WebhookDelivery: {
      /** @description The attempt */
      id: string
      /** @description The webhook */
      webhookId: string
      /** @description The value of the webhook-id header, the same for every attempt */
      deliveryId: string
      type: components['schemas']['WebhookMessage']
      /** @description The seq of the first event; null for a test */
      firstSeq: number | null
      /** @description The seq of the last event; null for a test */
      lastSeq: number | null
      /** @description The number of events */
      events: number
      /** @description The number of the attempt, from 1 */
      attempt: number
      /** @description The HTTP status of the response; null without a response */
      status: number | null
      /** @description Why there was no response, or that a redirect was not followed; otherwise null */
      error: string | null
      /** @description The first 1024 bytes of the response body */
      answer: string
      /** @description When the attempt began */
      at: string
      /** @description The duration of the attempt in milliseconds */
      durationMs: number
    }
    WebhookFields: {
      /** @description The webhook */
      id?: string
      /** @description The project */
      projectId?: string
      /** @description Whether events are sent */
      enabled?: boolean
      /** @description Why the service disabled the webhook; otherwise null */
      disabledReason?: string | null
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy?: string | null
      /** @description When it was created */
      createdAt?: string
      /** @description Only in `webhook.updated`: the names of the changed fields, also `secret` and `cursor` */
      changed?: string[]
    }
    /**
     * @description One of events, test
     * @enum {string}
     */
    WebhookMessage: 'events' | 'test'
    WebhookSummary: {
      /** @description The webhook */
      id: string
      /** @description The project */
      projectId: string
      /** @description Whether events are sent */
      enabled: boolean
      /** @description Why the service disabled the webhook; otherwise null */
      disabledReason: string | null
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When it was created */
      createdAt: string
    }
    WebhookWithSecret: {
      /** @description The id of the webhook, used in its paths */
      id: string
      /** @description The key that signs deliveries; only this response shows it */
      secret: string
      /** @description The project */
      projectId: string
      /** @description A URL that begins with https:// and resolves to public addresses */
      url: string
      /** @description A list of event types, or null: only events of these types are sent */
      types: components['schemas']['EventType'][] | null
      /** @description A whole number from 1 to 100: the most events in one delivery */
      maxEvents: number
      /** @description The account whose events are not sent; null to send the events of all accounts */
      exceptActorId: string | null
      /** @description true or false: whether events are sent */
      enabled: boolean
      /** @description Why the service disabled the webhook; otherwise null */
      disabledReason: string | null
      /** @description Every event up to this seq is delivered */
      cursor: number
      /** @description Failed attempts since the last success */
      failures: number
      /** @description The time of the next attempt after a failure; otherwise null */
      nextAttemptAt: string | null
      /** @description The id of the account that created this; null if the account is unknown or deleted */
      createdBy: string | null
      /** @description When the webhook was created */
      createdAt: string
    }
  }
  requestBodies: never
}
export interface operations {
  readLiveness: {
    parameters: {}
    responses: {
      /** @description The process runs */
      200: {
        content: {
          'application/json': Record<string, never>
        }
      }
    }
  }
  readReadiness: {
    parameters: {}
    responses: {
      /** @description Ready */
      200: {
        content: {
          'application/json': Record<string, never>
        }
      }
    }
  }
  callMcp: {
    parameters: {}
    /** @description A request or a notification of JSON-RPC 2.0 */
    requestBody: {
      content: {
        'application/json': components['schemas']['McpMessage']
      }
    }
    responses: {
      /** @description The response to the message */
      200: {
        content: {
          'application/json': components['schemas']['McpReply']
          'text/event-stream': string
        }
      }
      /** @description A notification was received */
      202: {
        content?: never
      }
    }
  }
  register: {
    parameters: {}
    /** @description Read-only fields are ignored: id, emailVerified */
    requestBody: {
      content: {
        'application/json': components['schemas']['Register']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['SignedIn']
        }
      }
    }
  }
  login: {
    parameters: {}
    /** @description Read-only fields are ignored: id, name, emailVerified */
    requestBody: {
      content: {
        'application/json': components['schemas']['Login']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['SignedIn']
        }
      }
    }
  }
  verifyEmail: {
    parameters: {}
    requestBody: {
      content: {
        'application/json': components['schemas']['VerifyEmail']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  forgotPassword: {
    parameters: {}
    requestBody: {
      content: {
        'application/json': components['schemas']['ForgotPassword']
      }
    }
    responses: {
      /** @description Accepted */
      202: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  resetPassword: {
    parameters: {}
    requestBody: {
      content: {
        'application/json': components['schemas']['ResetPassword']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  getMe: {
    parameters: {}
    responses: {
      /** @description The caller's account */
      200: {
        content: {
          'application/json': components['schemas']['Account']
        }
      }
    }
  }
  deleteMe: {
    parameters: {}
    requestBody?: {
      content: {
        'application/json': components['schemas']['DeleteMe']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateMe: {
    parameters: {}
    /** @description Read-only fields are ignored: access_token, id, email, emailVerified */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateMe']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['ChangedUser']
        }
      }
    }
  }
  logout: {
    parameters: {}
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  logoutAll: {
    parameters: {}
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  resendVerification: {
    parameters: {}
    responses: {
      /** @description Accepted */
      202: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  listTokens: {
    parameters: {}
    responses: {
      /** @description All valid tokens */
      200: {
        content: {
          'application/json': components['schemas']['ApiToken'][]
        }
      }
    }
  }
  createToken: {
    parameters: {}
    /** @description Read-only fields are ignored: id, token, createdBy, createdAt, lastUsedAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateToken']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['NewApiToken']
        }
      }
    }
  }
  deleteToken: {
    parameters: {
      path: {
        /** @description The id of a token */
        id: string
      }
    }
    responses: {
      /** @description Done */
      204: {
        content?: never
      }
    }
  }
  listProjects: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 1000, by default 1000. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Project'][]
        }
      }
    }
  }
  createProject: {
    parameters: {}
    /** @description Read-only fields are ignored: ownerId, owner, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateProject']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Project']
        }
      }
    }
  }
  getProject: {
    parameters: {
      query?: {
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description The current state, or the state at `asOf` */
      200: {
        content: {
          'application/json': components['schemas']['Project']
        }
      }
    }
  }
  deleteProject: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateProject: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, ownerId, owner, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateProject']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Project']
        }
      }
    }
  }
  inviteMember: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, userId, user, projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['InviteMember']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Member']
        }
      }
    }
  }
  setMemberRole: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a member */
        memberId: string
      }
    }
    /** @description Read-only fields are ignored: id, userId, user, projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['SetMemberRole']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Member']
        }
      }
    }
  }
  removeMember: {
    parameters: {
      query?: {
        /** @description One of true, false: `true` also deletes all webhooks, service accounts and tokens that the member created */
        revoke?: components['schemas']['Revoke']
      }
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a member */
        memberId: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Departure']
        }
      }
    }
  }
  listMembers: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Member'][]
        }
      }
    }
  }
  listTasks: {
    parameters: {
      query?: {
        /** @description The id of a project */
        projectId?: string
        /** @description One of TODO, IN_PROGRESS, DONE */
        status?: components['schemas']['TaskStatus']
        /** @description One of LOW, MEDIUM, HIGH */
        priority?: components['schemas']['TaskPriority']
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueAfter?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueBefore?: string
        /** @description The id of a user, or "me" */
        assigneeId?: string
        /** @description A text of 1 to 200 characters: lists the task with this external id. Needs projectId */
        externalId?: string
        /** @description The words of a search, as in GET /search. Comments and subtasks count as text of their task */
        q?: string
        /** @description The id of a task: lists the tasks that it blocks */
        blocks?: string
        /** @description The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now */
        claimedBy?: string
        /** @description A whole number from 0: lists the tasks with at least this many attempts */
        minAttempts?: number
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with all of these labels */
        labels?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with at least one of these labels */
        anyLabel?: string
        /** @description true: lists the tasks without labels */
        noLabel?: 'true'
        /** @description true: lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted */
        ready?: 'true'
        /** @description One of createdAt, -createdAt, dueDate, -dueDate, position */
        sort?: components['schemas']['TaskSort']
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
        /** @description A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId */
        [key: `field.${string}`]: undefined | string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Task'][]
        }
      }
    }
  }
  createTask: {
    parameters: {}
    /** @description Read-only fields are ignored: number, createdAt, updatedAt, position, claim, attempts, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateTask']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  getTask: {
    parameters: {
      query?: {
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
        /** @description With asOf: the id of the project that contained the task at that version. The task may be in another project now */
        projectId?: string
      }
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    responses: {
      /** @description The current state, or the state at `asOf` */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  deleteTask: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateTask: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, createdAt, updatedAt, position, claim, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateTask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  upsertTask: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The externalId, percent-encoded */
        externalId: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, number, externalId, createdAt, updatedAt, position, claim, attempts, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpsertTask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  appendTask: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['AppendTask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  listSubtasks: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
        /** @description With asOf: the id of the project that contained the task at that version. The task may be in another project now */
        projectId?: string
      }
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Subtask'][]
        }
      }
    }
  }
  createSubtask: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    /** @description Read-only fields are ignored: completed, taskId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateSubtask']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Subtask']
        }
      }
    }
  }
  toggleSubtask: {
    parameters: {
      path: {
        /** @description The id of a subtask */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Subtask']
        }
      }
    }
  }
  deleteSubtask: {
    parameters: {
      path: {
        /** @description The id of a subtask */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateSubtask: {
    parameters: {
      path: {
        /** @description The id of a subtask */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, taskId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateSubtask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Subtask']
        }
      }
    }
  }
  listComments: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
        /** @description With asOf: the id of the project that contained the task at that version. The task may be in another project now */
        projectId?: string
      }
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Comment'][]
        }
      }
    }
  }
  createComment: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    /** @description Read-only fields are ignored: authorId, author, authorRemoved, taskId, createdAt, updatedAt, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateComment']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Comment']
        }
      }
    }
  }
  deleteComment: {
    parameters: {
      path: {
        /** @description The id of a comment */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateComment: {
    parameters: {
      path: {
        /** @description The id of a comment */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, authorId, author, authorRemoved, taskId, createdAt, updatedAt, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateComment']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Comment']
        }
      }
    }
  }
  listLabels: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Label'][]
        }
      }
    }
  }
  createLabel: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateLabel']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Label']
        }
      }
    }
  }
  deleteLabel: {
    parameters: {
      path: {
        /** @description The id of a label */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateLabel: {
    parameters: {
      path: {
        /** @description The id of a label */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateLabel']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Label']
        }
      }
    }
  }
  listFields: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Field'][]
        }
      }
    }
  }
  createField: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateField']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['Field']
        }
      }
    }
  }
  deleteField: {
    parameters: {
      path: {
        /** @description The id of a field */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateField: {
    parameters: {
      path: {
        /** @description The id of a field */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, key, type, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateField']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Field']
        }
      }
    }
  }
  listViews: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['View'][]
        }
      }
    }
  }
  createView: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateView']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['View']
        }
      }
    }
  }
  deleteView: {
    parameters: {
      path: {
        /** @description The id of a view */
        id: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateView: {
    parameters: {
      path: {
        /** @description The id of a view */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateView']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['View']
        }
      }
    }
  }
  listViewTasks: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a view */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Task'][]
        }
      }
    }
  }
  countTasks: {
    parameters: {
      query: {
        /** @description The id of a project */
        projectId: string
        /** @description One of TODO, IN_PROGRESS, DONE */
        status?: components['schemas']['TaskStatus']
        /** @description One of LOW, MEDIUM, HIGH */
        priority?: components['schemas']['TaskPriority']
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueAfter?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        dueBefore?: string
        /** @description The id of a user, or "me" */
        assigneeId?: string
        /** @description A text of 1 to 200 characters: lists the task with this external id. Needs projectId */
        externalId?: string
        /** @description The words of a search, as in GET /search. Comments and subtasks count as text of their task */
        q?: string
        /** @description The id of a task: lists the tasks that it blocks */
        blocks?: string
        /** @description The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now */
        claimedBy?: string
        /** @description A whole number from 0: lists the tasks with at least this many attempts */
        minAttempts?: number
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with all of these labels */
        labels?: string
        /** @description Ids of labels, separated by commas, at most 50: lists the tasks with at least one of these labels */
        anyLabel?: string
        /** @description true: lists the tasks without labels */
        noLabel?: 'true'
        /** @description true: lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted */
        ready?: 'true'
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
        /** @description A filter by the field with this key, for example `field.estimate=3`: lists the tasks with this value. `field.estimate.min=2` and `field.estimate.max=5` are inclusive, and need a field of the type number or date. Needs projectId */
        [key: `field.${string}`]: undefined | string
        /** @description One of status, priority, assigneeId, labelId, none */
        by?: components['schemas']['TaskCountedBy']
      }
    }
    responses: {
      /** @description The current state, or the state at `asOf` */
      200: {
        content: {
          'application/json': components['schemas']['TaskCounts']
        }
      }
    }
  }
  search: {
    parameters: {
      query: {
        /** @description A text of 1 to 1000 characters: words that must all match, the last one also as the start of a word; "a phrase"; -word and -"a phrase" exclude; #42 is the number of a task. A full id or an external id also matches, and only these match if no word, phrase or number must match */
        q: string
        /** @description A list of task, comment, project, separated by commas: only hits of these types */
        types?: string
        /** @description The id of a project */
        projectId?: string
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['SearchHit'][]
        }
      }
    }
  }
  claimTask: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    requestBody: {
      content: {
        'application/json': components['schemas']['ClaimTask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  releaseTask: {
    parameters: {
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, number, title, description, status, priority, dueDate, assigneeId, externalId, remindAt, createdAt, updatedAt, position, labelIds, blockedByIds, fields, claim, attempts, importedAuthor */
    requestBody?: {
      content: {
        'application/json': components['schemas']['ReleaseTask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
    }
  }
  claimNextTask: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['ClaimNextTask']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Task']
        }
      }
      /** @description No task is ready */
      204: {
        content?: never
      }
    }
  }
  batchProject: {
    parameters: {
      query?: {
        /** @description One of true, false: `true` returns the result that the request would have, and changes nothing */
        dryRun?: components['schemas']['DryRun']
        /** @description One of minimal, full: `full` returns whole resources in place of ids and ETags */
        return?: components['schemas']['BatchReturn']
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['BatchProject']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Batch']
        }
      }
    }
  }
  undoProject: {
    parameters: {
      query?: {
        /** @description One of true, false: `true` returns the result that the request would have, and changes nothing */
        dryRun?: components['schemas']['DryRun']
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    requestBody: {
      content: {
        'application/json': components['schemas']['UndoProject']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Undone']
        }
      }
    }
  }
  listEvents: {
    parameters: {
      query?: {
        /** @description A whole number: the seq of the last event that the client has, or 0 */
        after?: number
        /** @description The maximum number of rows in a page: 1 to 500, by default 100. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description A whole number from 0 to 25: how many seconds to wait for events */
        wait?: number
        /** @description Event types, separated by commas: project.created, project.updated, project.deleted, member.invited, member.role_set, member.removed, task.created, task.updated, task.deleted, task.moved_in, task.moved_out, task.unassigned, task.claimed, task.released, task.claim_expired, task.reminded, task.due, task.ready, subtask.created, subtask.updated, subtask.toggled, subtask.deleted, comment.created, comment.updated, comment.deleted, label.created, label.updated, label.deleted, field.created, field.updated, field.deleted, view.created, view.updated, view.deleted, webhook.created, webhook.updated, webhook.deleted, service_account.created, service_account.deleted, token.created, token.deleted */
        types?: string
        /** @description The id of an account, or `me`: leaves out the events of this account */
        exceptActor?: string
        /** @description A list of tasks, members, labels, fields, views, separated by commas: a stream begins with these rows */
        snapshot?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Event'][]
          'text/event-stream': components['schemas']['EventStream']
        }
      }
    }
  }
  listProjectHistory: {
    parameters: {
      query?: {
        /** @description An entity or an id: project, member, task, subtask, comment, label, field, view, webhook, service_account, token, or the id of the changed row */
        entity?: string
        /** @description The id of the user who made the change */
        actor?: string
        /** @description Event types, separated by commas: project.created, project.updated, project.deleted, member.invited, member.role_set, member.removed, task.created, task.updated, task.deleted, task.moved_in, task.moved_out, task.unassigned, task.claimed, task.released, task.claim_expired, task.reminded, task.due, task.ready, subtask.created, subtask.updated, subtask.toggled, subtask.deleted, comment.created, comment.updated, comment.deleted, label.created, label.updated, label.deleted, field.created, field.updated, field.deleted, view.created, view.updated, view.deleted, webhook.created, webhook.updated, webhook.deleted, service_account.created, service_account.deleted, token.created, token.deleted */
        type?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        from?: string
        /** @description An ISO 8601 date-time with offset, or a date (midnight UTC) */
        to?: string
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Event'][]
        }
      }
    }
  }
  listTaskHistory: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a task */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['TaskEvent'][]
        }
      }
    }
  }
  followProjects: {
    parameters: {
      query?: {
        /** @description The id of a project: the stream lists the projects after this id */
        afterProject?: string
        /** @description The id of an account, or `me`: leaves out the events of this account */
        exceptActor?: string
      }
    }
    responses: {
      /** @description The current state */
      200: {
        content: {
          'text/event-stream': components['schemas']['VersionStream']
        }
      }
    }
  }
  readEvents: {
    parameters: {}
    requestBody: {
      content: {
        'application/json': components['schemas']['ReadEvents']
      }
    }
    responses: {
      /** @description The current state */
      200: {
        content: {
          'application/json': components['schemas']['EventsOfProjects']
        }
      }
    }
  }
  listServiceAccounts: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['ServiceAccount'][]
        }
      }
    }
  }
  createServiceAccount: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, memberId, createdBy, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateServiceAccount']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['ServiceAccount']
        }
      }
    }
  }
  deleteServiceAccount: {
    parameters: {
      query?: {
        /** @description One of true, false: `true` also deletes all webhooks, service accounts and tokens that the member created */
        revoke?: components['schemas']['Revoke']
      }
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of an account */
        accountId: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Departure']
        }
      }
    }
  }
  listServiceAccountTokens: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of an account */
        accountId: string
      }
    }
    responses: {
      /** @description All valid tokens */
      200: {
        content: {
          'application/json': components['schemas']['ApiToken'][]
        }
      }
    }
  }
  createServiceAccountToken: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of an account */
        accountId: string
      }
    }
    /** @description Read-only fields are ignored: id, token, createdBy, createdAt, lastUsedAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateToken']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['NewApiToken']
        }
      }
    }
  }
  deleteServiceAccountToken: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of an account */
        accountId: string
        /** @description The id of a token */
        tokenId: string
      }
    }
    responses: {
      /** @description Done */
      204: {
        content?: never
      }
    }
  }
  listWebhooks: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Webhook'][]
        }
      }
    }
  }
  createWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    /** @description Read-only fields are ignored: id, secret, projectId, disabledReason, cursor, failures, nextAttemptAt, createdBy, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateWebhook']
      }
    }
    responses: {
      /** @description Created */
      201: {
        content: {
          'application/json': components['schemas']['WebhookWithSecret']
        }
      }
    }
  }
  getWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    responses: {
      /** @description The current state, or the state at `asOf` */
      200: {
        content: {
          'application/json': components['schemas']['Webhook']
        }
      }
    }
  }
  deleteWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  updateWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    /** @description Read-only fields are ignored: id, secret, projectId, disabledReason, cursor, failures, nextAttemptAt, createdBy, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateWebhook']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Webhook']
        }
      }
    }
  }
  rotateWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['WebhookWithSecret']
        }
      }
    }
  }
  testWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['WebhookDelivery']
        }
      }
    }
  }
  replayWebhook: {
    parameters: {
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    /** @description Read-only fields are ignored: id, projectId, url, types, maxEvents, exceptActorId, enabled, disabledReason, cursor, failures, nextAttemptAt, createdBy, createdAt */
    requestBody: {
      content: {
        'application/json': components['schemas']['ReplayWebhook']
      }
    }
    responses: {
      /** @description The result of the write */
      200: {
        content: {
          'application/json': components['schemas']['Webhook']
        }
      }
    }
  }
  listWebhookDeliveries: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a project */
        id: string
        /** @description The id of a webhook */
        webhookId: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['WebhookDelivery'][]
        }
      }
    }
  }
  exportProject: {
    parameters: {
      query?: {
        /** @description One of docket, ndjson, csv: docket is complete; ndjson has a task for each line; csv has a task for each row. Default: docket */
        format?: components['schemas']['ExportFormat']
        /** @description A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people */
        asOf?: string
        /** @description One of true, false: true adds all events; only with the format docket */
        history?: components['schemas']['History']
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description The file */
      200: {
        content: {
          'application/x-ndjson': components['schemas']['LinesOfJson']
          'text/csv': components['schemas']['CommaSeparatedValues']
        }
      }
    }
  }
  exportAccount: {
    parameters: {}
    responses: {
      /** @description The archive */
      200: {
        content: {
          'application/gzip': components['schemas']['Archive']
        }
      }
    }
  }
  listImports: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['Import'][]
        }
      }
    }
  }
  createImport: {
    parameters: {
      query?: {
        /** @description One of csv, jira, trello, linear, todoist, github, asana, planka, wekan, ticktick, deck, docket: the system that wrote the file */
        source?: components['schemas']['ImportSource']
        /** @description One of true, false: `true` returns the result that the request would have, and changes nothing */
        dryRun?: components['schemas']['DryRun']
        /** @description A JSON object: how the parts of the file become fields */
        mapping?: string
      }
      path: {
        /** @description The id of a project */
        id: string
      }
    }
    requestBody: {
      content: {
        'application/octet-stream': components['schemas']['ImportFile']
        'multipart/form-data': components['schemas']['ImportForm']
      }
    }
    responses: {
      /** @description The file is stored, and the import waits for a worker */
      202: {
        content: {
          'application/json': components['schemas']['Import']
        }
      }
    }
  }
  getImport: {
    parameters: {
      path: {
        /** @description The id of an import */
        id: string
      }
    }
    responses: {
      /** @description The current state, or the state at `asOf` */
      200: {
        content: {
          'application/json': components['schemas']['Import']
        }
      }
    }
  }
  cancelImport: {
    parameters: {
      path: {
        /** @description The id of an import */
        id: string
      }
    }
    responses: {
      /** @description Cancelled */
      200: {
        content: {
          'application/json': components['schemas']['Message']
        }
      }
    }
  }
  listImportReport: {
    parameters: {
      query?: {
        /** @description The maximum number of rows in a page: 1 to 200, by default 50. A page also ends at 1048576 bytes; the Link header then leads to the next page */
        limit?: number
        /** @description From the Link header of the previous page */
        cursor?: string
      }
      path: {
        /** @description The id of an import */
        id: string
      }
    }
    responses: {
      /** @description One page */
      200: {
        content: {
          'application/json': components['schemas']['ImportReportLine'][]
        }
      }
    }
  }
  undoImport: {
    parameters: {
      path: {
        /** @description The id of an import */
        id: string
      }
    }
    responses: {
      /** @description The undo has ended */
      200: {
        content: {
          'application/json': components['schemas']['Import']
        }
      }
      /** @description The undo continues: see `undo` of the import */
      202: {
        content: {
          'application/json': components['schemas']['Import']
        }
      }
    }
  }
}
