// link and rename return only when what they logged is on disk
//
// upstream: 75b463d2b47a ("btrfs: do not commit logs and transactions during link and rename operations")
//   (in v5.10)
// files: fs/btrfs/tree-log.c fs/btrfs/tree-log.h fs/btrfs/inode.c
//
// The same as any.cocci, for the code of 5.10: there btrfs_log_new_name() pins nothing and has no error path,
// btrfs_log_inode_parent() says 1 where later kernels say BTRFS_LOG_FORCE_COMMIT, and the two names of an
// exchange are logged in two blocks.

@in_header@
parameter list PS;
@@
- void
+ int
btrfs_log_new_name(PS
+		   , struct btrfs_log_ctx *ctx
 );
+int btrfs_sync_new_name(struct btrfs_trans_handle *trans, struct btrfs_root *root,
+			int logged, struct btrfs_log_ctx *ctx);

@signature@
parameter list PS;
symbol ctx;
@@
- void
+ int
btrfs_log_new_name(PS
+		   , struct btrfs_log_ctx *ctx
 )
{
...
- struct btrfs_log_ctx ctx;
... when any
}

+/*
+ * To be called when the caller no longer pins the log. logged: what btrfs_log_new_name() returned for ctx.
+ * Not 0: the log cannot tell of it, the caller must commit the transaction.
+ */
+int btrfs_sync_new_name(struct btrfs_trans_handle *trans, struct btrfs_root *root,
+			int logged, struct btrfs_log_ctx *ctx)
+{
+	if (logged <= 0)
+		return logged;
+	if (TRANS_ABORTED(trans)) {
+		btrfs_remove_log_ctx(root, ctx);
+		return 0;
+	}
+	return btrfs_sync_log(trans, root, ctx);
+}

@told depends on signature@
symbol ctx, true;
expression list ES;
@@
btrfs_log_new_name(...)
{
<...
(
- return;
+ return 0;
|
- ctx.logging_new_name = true;
|
- btrfs_log_inode_parent(ES, &ctx);
+ switch (btrfs_log_inode_parent(ES, ctx)) {
+ case 0:
+ 	return 1;
+ case BTRFS_NO_LOG_SYNC:
+ 	return 0;
+ default:
+ 	return -EAGAIN;
+ }
)
...>
}

@given depends on signature@
symbol ctx;
@@
btrfs_log_new_name(...)
{
<...
- &ctx
+ ctx
...>
}

@in_link@
identifier err;
@@
btrfs_link(...)
{
<+...
return err;
...+>
}

@link depends on in_link@
expression list ES;
identifier in_link.err;
symbol trans, root;
@@
btrfs_link(...)
{
+	struct btrfs_log_ctx log_ctx;
+	int logged = 0;
<...
(
-	btrfs_log_new_name(ES);
+	logged = btrfs_log_new_name(ES, &log_ctx);
|
	if (trans)
-		btrfs_end_transaction(trans);
+	{
+		int end_ret;
+
+		if (btrfs_sync_new_name(trans, root, logged, &log_ctx))
+			end_ret = btrfs_commit_transaction(trans);
+		else
+			end_ret = btrfs_end_transaction(trans);
+		err = err ?: end_ret;
+	}
)
...>
}

@rename@
expression list ES;
symbol trans, root, ret2;
@@
btrfs_rename(...)
{
+	struct btrfs_log_ctx log_ctx;
+	int logged = 0;
<...
(
-	btrfs_log_new_name(ES);
+	logged = btrfs_log_new_name(ES, &log_ctx);
|
-	ret2 = btrfs_end_transaction(trans);
+	if (btrfs_sync_new_name(trans, root, logged, &log_ctx))
+		ret2 = btrfs_commit_transaction(trans);
+	else
+		ret2 = btrfs_end_transaction(trans);
)
...>
}

@exchange@
expression list ES1, ES2;
symbol trans, root, dest, ret2, root_log_pinned, dest_log_pinned;
@@
btrfs_rename_exchange(...)
{
+	struct btrfs_log_ctx old_log_ctx;
+	struct btrfs_log_ctx new_log_ctx;
+	int old_logged = 0;
+	int new_logged = 0;
<...
(
	if (root_log_pinned) {
-		btrfs_log_new_name(ES1);
+		old_logged = btrfs_log_new_name(ES1, &old_log_ctx);
		...
	}
|
	if (dest_log_pinned) {
-		btrfs_log_new_name(ES2);
+		new_logged = btrfs_log_new_name(ES2, &new_log_ctx);
		...
	}
|
-	ret2 = btrfs_end_transaction(trans);
+	/* Both must be off their lists, so both are asked. */
+	old_logged = btrfs_sync_new_name(trans, root, old_logged, &old_log_ctx);
+	new_logged = btrfs_sync_new_name(trans, dest, new_logged, &new_log_ctx);
+	if (old_logged || new_logged)
+		ret2 = btrfs_commit_transaction(trans);
+	else
+		ret2 = btrfs_end_transaction(trans);
)
...>
}
